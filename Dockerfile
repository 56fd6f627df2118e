# retrygen check in a container:
#
#   docker build -t retrygen .
#   docker run --rm -v "$PWD:/src" retrygen check deploy
FROM golang:1.26 AS build
WORKDIR /build
COPY . .
RUN GOWORK=off CGO_ENABLED=0 go build -trimpath -o /retrygen ./cmd/retrygen

FROM scratch
COPY --from=build /retrygen /retrygen
WORKDIR /src
ENTRYPOINT ["/retrygen"]
CMD ["check"]
