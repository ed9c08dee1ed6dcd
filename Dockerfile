# A venue in a container: `docker build -t venue-files .`
#
#   docker run --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp --stop-timeout 15 \
#     -p 127.0.0.1:8080:8080 -v ./venue.json5:/etc/venue-files/venue.json5:ro -v ./files:/data -v state:/var/lib/venue-files venue-files
#
# The configuration needs `hostname: "0.0.0.0"` and says who may call (`auth.public.enabled`); roots lie below /data. See docs/operating.md.
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# Packages that some configurations need besides, such as postgres.
ARG PEERS=
RUN npm run --silent build && npm pack --ignore-scripts --silent --pack-destination /tmp \
	&& mkdir /app && cd /app && npm init -y >/dev/null \
	&& npm install --ignore-scripts --omit=dev --no-audit --no-fund /tmp/venue-files-*.tgz $PEERS \
	&& rm -rf node_modules/@lmdb/*-musl node_modules/*/*/musl_* ~/.npm

FROM node:24-bookworm-slim
COPY --from=build /app/node_modules /app/node_modules
RUN install -d -o 10001 -g 10001 -m 0700 /var/lib/venue-files && install -d -o 10001 -g 10001 /data
WORKDIR /app/node_modules/venue-files
ENV NODE_ENV=production VENUE_FILES_STATE_DIR=/var/lib/venue-files
USER 10001:10001
VOLUME ["/data", "/var/lib/venue-files"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s CMD ["node", "dist/cli.js", "health", "--config", "/etc/venue-files/venue.json5"]
ENTRYPOINT ["node", "dist/cli.js"]
CMD ["serve", "--config", "/etc/venue-files/venue.json5"]
