module codec

go 1.18
