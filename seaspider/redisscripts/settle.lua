-- ARGV: token, a pause for each of KEYS[3]... Answers settled or lost; 0; now; the epoch; the keys that were not held.

local token, began = ARGV[1], epoch()
local answer = {'settled', 0, now, began}
for i = 3, #KEYS do
    local state = load_key(KEYS[i], began) or {rest = now, lapse = 0, token = '', pause = 0}
    local pause = tonumber(ARGV[i - 1])
    if state.token == token and now < state.lapse then
        state.token, state.lapse = '', 0
    else
        answer[1] = 'lost'
        answer[#answer + 1] = KEYS[i]
    end
    if now + pause > state.rest then
        state.rest = now + pause
        if state.token == '' then
            state.pause = math.max(pause, state.pause)
        end
    end
    save_key(KEYS[i], began, state)
end
redis.call('HSET', EPOCH, 'latest', text(now))
return answer
