module github.com/retrygen/retrygen/contrib/consumer

go 1.26.0

require github.com/retrygen/retrygen v0.0.0

replace github.com/retrygen/retrygen => ../..
