# The floor server and floorctl in a small image, built from this checkout.
#
#   docker build -t floor-server .
#
# Both base images are build arguments, for mirrors and images of your own. BUILD_IMAGE needs Debian 12 and Rust 1.95,
# RUN_IMAGE needs Debian 12. A registry can move a tag. To pin the content, add the digest that your registry shows:
#
#   docker pull debian:bookworm-20260918-slim
#   docker image inspect --format '{{index .RepoDigests 0}}' debian:bookworm-20260918-slim
#   docker build --build-arg RUN_IMAGE=debian:bookworm-20260918-slim@sha256:... -t floor-server .
ARG BUILD_IMAGE=rust:1.95.0-bookworm
ARG RUN_IMAGE=debian:bookworm-20260918-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY . .
RUN cargo build --profile dist --locked --package bevy-server --package floorctl --features bevy-server/modules,floorctl/modules

FROM ${RUN_IMAGE}
RUN groupadd --system --gid 10001 floors \
    && useradd --system --uid 10001 --gid 10001 --home-dir /data --shell /usr/sbin/nologin floors \
    && install --directory --owner 10001 --group 10001 --mode 0750 /data
COPY --from=build /src/target/dist/bevy-server /src/target/dist/floorctl /usr/local/bin/
# An example, which no server reads unless packs.dir names the folder above it.
COPY packs/drowned-library /usr/local/share/floor-server/packs/drowned-library
# Numbers, since Kubernetes cannot tell from a name that a user is not root (runAsNonRoot).
USER 10001:10001
WORKDIR /
VOLUME /data
# In a container the server must listen on every interface; the operator chooses which ports to publish.
ENV FLOORS__GRPC__LISTEN=0.0.0.0:50051 \
    FLOORS__OPS__LISTEN=0.0.0.0:50052 \
    FLOORS__CACHE__LMDB__PATH=/data/lmdb \
    FLOORS__CACHE__SLED__PATH=/data/sled
EXPOSE 50051 50052
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 CMD ["bevy-server", "healthcheck"]
ENTRYPOINT ["bevy-server"]
