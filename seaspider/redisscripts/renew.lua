-- ARGV: token, time to live. Answers go or lost; 0; now; the epoch.

local ttl, began = tonumber(ARGV[2]), epoch()
if redis.call('HGET', LEASE, 'token') ~= ARGV[1] then
    return {'lost', 0, now, began}
end
redis.call('HSET', LEASE, 'until', text(now + ttl), 'ttl', text(ttl), 'epoch', text(began))
redis.call('PEXPIRE', LEASE, text(math.ceil((ttl + KEPT_IF_HELD) / 1000)))
return {'go', 0, now, began}
