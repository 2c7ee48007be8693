# The image of Parley: one static binary, nothing else, not root.
#
#     docker build -t parley .
#     export PARLEY_BOOTSTRAP_KEY=$(docker run --rm parley keys generate)                  # keep it: it may do everything
#     docker run -p 2024:2024 -e PARLEY_BOOTSTRAP_KEY -v parley:/data parley               # data in the volume
#     docker run -p 2024:2024 -e PARLEY_BOOTSTRAP_KEY -e PARLEY_REDIS=redis://redis:6379 parley
#     docker run -p 2024:2024 -e PARLEY_BOOTSTRAP_KEY -e PARLEY_CONFIG=/agents.yaml -v ./agents.yaml:/agents.yaml parley
#
# Without a key or an issuer of tokens (docs/identity.md) it doesn't start, since it listens on every address.
# To try it alone: -p 127.0.0.1:2024:2024 -e PARLEY_INSECURE_ANONYMOUS=1
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/parley ./cmd/parley && mkdir -p /out/data /out/tmp

FROM scratch
# Models, MCP servers and webhooks are called over TLS. Time zones are in the binary.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/parley /parley
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/tmp /tmp
USER 65532:65532
ENV PARLEY_HOST=0.0.0.0 PARLEY_PORT=2024 PARLEY_DATA=/data
VOLUME /data
EXPOSE 2024
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s --start-period=10s --retries=3 CMD ["/parley", "health"]
ENTRYPOINT ["/parley"]
CMD ["serve"]
