-- Stalls of Nagle's algorithm in one capture, found by nagle-scan @VERSION@.
-- @FITS@:
--
--   wireshark -X lua_script:nagle.lua @CAPTURE@
--   tshark -X lua_script:nagle.lua -r @CAPTURE@ -Y nagle.stall
--
-- Display filters: nagle.stall (all frames of stalls), nagle.role == "held", nagle.wait_ms > 40,
-- nagle.confidence == "certain", nagle.cause == "nagle_delack", nagle.nodelay == "no"
-- Column: Preferences, Appearance, Columns, +; type Custom, fields nagle.wait_ms
-- Coloring rule: View, Coloring Rules, Import, a file with this line:
--   @Held by Nagle@nagle.role == "held"@[65535,50115,33410][0,0,0]
--
-- Frames are known by number, addresses, ports, sequence and acknowledgment numbers: in any other
-- capture, and where frames are numbered anew, nothing is shown.

local stalls = [[
@STALLS@
]]
-- number, frames (unacknowledged, ACK, held), ms held, cause, confidence, TCP_NODELAY of the sender,
-- and what is said of each of the three frames

local frames = [[
@FRAMES@
]]
-- number; addresses, ports, sequence and acknowledgment numbers

local nagle = Proto("nagle", "Stall of Nagle's algorithm")
local fields = {
  stall = ProtoField.uint32("nagle.stall", "Stall"),
  role = ProtoField.string("nagle.role", "This frame"),
  wait_ms = ProtoField.double("nagle.wait_ms", "Held for at most (ms)"),
  cause = ProtoField.string("nagle.cause", "Cause"),
  confidence = ProtoField.string("nagle.confidence", "Confidence"),
  nodelay = ProtoField.string("nagle.nodelay", "TCP_NODELAY in effect at the sender"),
}
local links = {
  ProtoField.framenum("nagle.frame_unacked", "Unacknowledged segment", base.NONE),
  ProtoField.framenum("nagle.frame_ack", "ACK", base.NONE, frametype.ACK),
  ProtoField.framenum("nagle.frame_held", "Held segment", base.NONE),
}
nagle.fields = {
  fields.stall, fields.role, fields.wait_ms, fields.cause, fields.confidence, fields.nodelay,
  links[1], links[2], links[3],
}
local roles = { "unacknowledged", "ACK", "held" }

local identity = {}
for number, bytes in frames:gmatch("(%d+) (%x+)") do
  identity[tonumber(number)] = bytes
end

local known = {}
for line in stalls:gmatch("[^\n]+") do
  local cells = {}
  for cell in line:gmatch("[^\t]+") do
    cells[#cells + 1] = cell
  end
  local stall = {
    number = tonumber(cells[1]),
    frames = { tonumber(cells[2]), tonumber(cells[3]), tonumber(cells[4]) },
    wait_ms = tonumber(cells[5]), cause = cells[6], confidence = cells[7], nodelay = cells[8],
    said = { cells[9], cells[10], cells[11] },
  }
  for role, frame in ipairs(stall.frames) do
    known[frame] = known[frame] or {}
    table.insert(known[frame], { stall = stall, role = role })
  end
end

local tcp_header = Field.new("tcp")
local sources = { Field.new("ip.src"), Field.new("ipv6.src") }
local destinations = { Field.new("ip.dst"), Field.new("ipv6.dst") }

local function hex(range)
  return tostring(range:bytes())
end

-- In a tunnel a frame has several headers.
local function is_it(expected)
  for version, source in ipairs(sources) do
    local to = { destinations[version]() }
    for place, from in ipairs({ source() }) do
      for _, tcp in ipairs({ tcp_header() }) do
        -- Either may be cut off in what an ICMP error quotes.
        local whole = to[place] and tcp.len >= 12
        if whole and hex(from.range) .. hex(to[place].range) .. hex(tcp.range(0, 12)) == expected then
          return true
        end
      end
    end
  end
  return false
end

function nagle.dissector(_, pinfo, tree)
  local shown = known[pinfo.number]
  if shown == nil or not is_it(identity[pinfo.number]) then
    return
  end
  for _, one in ipairs(shown) do
    local stall = one.stall
    local branch = tree:add(nagle):set_text("Nagle: " .. stall.said[one.role])
    branch:add(fields.stall, stall.number):set_generated()
    branch:add(fields.role, roles[one.role]):set_generated()
    branch:add(fields.wait_ms, stall.wait_ms):set_generated()
    branch:add(fields.cause, stall.cause):set_generated()
    branch:add(fields.confidence, stall.confidence):set_generated()
    branch:add(fields.nodelay, stall.nodelay):set_generated()
    for role, link in ipairs(links) do
      if role ~= one.role then
        branch:add(link, stall.frames[role]):set_generated()
      end
    end
  end
end

register_postdissector(nagle)
