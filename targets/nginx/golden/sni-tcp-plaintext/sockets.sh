# What the open connections of each edge have carried: nginx writes that down only when they end.
ss -tinHO src 127.60.0.2:8080 | awk '{
  received = 0
  for (i = 1; i <= NF; i++) if (split($i, part, ":") == 2 && part[1] == "bytes_received") received = part[2]
  print "edge=client__server connections=1 received=" received
}'
ss -tinHO src 127.60.0.2:8081 | awk '{
  received = 0
  for (i = 1; i <= NF; i++) if (split($i, part, ":") == 2 && part[1] == "bytes_received") received = part[2]
  print "edge=web__database connections=1 received=" received
}'
