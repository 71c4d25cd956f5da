-- ARGV: token, hold, lease token or '', a pause for each of KEYS[3]... Answers go, wait, busy, new or lost; how long to
-- wait; now; the epoch. A token whose claim was made, but not heard of, may claim again.

local token, hold = ARGV[1], tonumber(ARGV[2])
if ARGV[3] ~= '' and redis.call('HGET', LEASE, 'token') ~= ARGV[3] then
    return {'lost', 0, now, (epoch())}
end

local began, earlier = epoch()
local quiet = began + math.max(hold, earlier)
if now < quiet then
    return {'new', quiet - now, now, began}
end

local obstacle, until_then = nil, now
for i = 3, #KEYS do
    local state, pause = load_key(KEYS[i], began), tonumber(ARGV[i + 1])
    if state then
        local free, held = state.rest, false
        if state.token ~= '' and state.token ~= token then
            free = math.max(free, state.lapse + math.max(0, pause - state.pause))
            held = state.lapse > now
        end
        if free > now then
            local kind = held and 'busy' or 'wait'
            if obstacle == kind then
                until_then = math.max(until_then, free)
            elseif obstacle ~= 'busy' then
                obstacle, until_then = kind, free
            end
        end
    end
end
if obstacle then
    return {obstacle, until_then - now, now, began}
end

for i = 3, #KEYS do
    local pause = tonumber(ARGV[i + 1])
    save_key(KEYS[i], began, {rest = now, lapse = now + hold + pause, token = token, pause = pause})
end
hold = math.max(hold, tonumber(redis.call('HGET', EPOCH, 'hold')))
redis.call('HSET', EPOCH, 'hold', text(hold), 'earlier', 0, 'latest', text(now))
return {'go', 0, now, began}
