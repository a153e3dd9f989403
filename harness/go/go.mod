module lockstep/virtual

go 1.25
