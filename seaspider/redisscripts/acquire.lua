-- ARGV: holder, time to live. Answers go or taken; how long it is still held; now; the epoch; the token.
-- A holder of an earlier epoch could not renew it for a while: it has the whole time again.

local holder, ttl, began = ARGV[1], tonumber(ARGV[2]), epoch()
local found = redis.call('HMGET', LEASE, 'number', 'token', 'until', 'ttl', 'epoch')
local number, token = tonumber(found[1] or 0), found[2] or ''
local again = token == text(number) .. ':' .. holder
if token ~= '' and not again then
    local until_then = tonumber(found[3])
    if found[5] ~= text(began) then
        until_then = began + tonumber(found[4])
    end
    if until_then > now then
        return {'taken', until_then - now, now, began, ''}
    end
end
if not again then
    number = number + 1
    token = text(number) .. ':' .. holder
end
redis.call('HSET', LEASE, 'number', text(number), 'token', token, 'until', text(now + ttl), 'ttl', text(ttl),
    'epoch', text(began))
redis.call('PEXPIRE', LEASE, text(math.ceil((ttl + KEPT_IF_HELD) / 1000)))
return {'go', 0, now, began, token}
