# One static binary in an empty image, run by nobody in particular. The root file system can be mounted
# read-only: the only place that is written is the database's folder.
#
#   docker run --read-only -v webreader:/data -p 8080:8080 webreader
#
# With more or less memory than a gigabyte, say so: -e GOMEMLIMIT=3GiB.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=${VERSION}" -o /out/webreader ./cmd/webreader
RUN mkdir -p /out/data /out/etc/ssl/certs && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/

FROM scratch
COPY --from=build /out/etc /etc
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build /out/webreader /webreader
ENV WEBREADER_DATABASE_URL=sqlite:/data/webreader.db \
    WEBREADER_LOG_FORMAT=json \
    GOMEMLIMIT=800MiB
USER 65532:65532
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["/webreader"]
CMD ["serve"]
