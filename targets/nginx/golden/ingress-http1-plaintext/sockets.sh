# What the open connections of each edge have carried: nginx writes that down only when they end.
