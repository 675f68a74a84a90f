module codec

go 1.21
