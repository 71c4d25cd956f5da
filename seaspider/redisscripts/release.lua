-- ARGV: token. Answers go or lost; 0; now; the epoch.

local began = epoch()
if redis.call('HGET', LEASE, 'token') ~= ARGV[1] then
    return {'lost', 0, now, began}
end
redis.call('HSET', LEASE, 'token', '', 'until', 0)
return {'go', 0, now, began}
