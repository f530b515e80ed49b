{{/* The name of the resources. */}}
{{- define "floor-server.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Servers with a disk keep it under their name; others are replaced by new ones. */}}
{{- define "floor-server.kind" -}}
{{ ternary "StatefulSet" "Deployment" .Values.persistence.enabled }}
{{- end }}

{{/* The labels that select the pods of the release; with "track" those of the servers or of the canary. */}}
{{- define "floor-server.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .track }}
floors/track: {{ . }}
{{- end }}
{{- end }}

{{- define "floor-server.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* Whether an optional resource is rendered: its value .enabled is true, or auto and the cluster has .api. */}}
{{- define "floor-server.wants" -}}
{{- if eq (toString .enabled) "auto" }}{{ if .root.Capabilities.APIVersions.Has .api }}yes{{ end }}{{ else if .enabled }}yes{{ end }}
{{- end }}

{{/* The port of .url, or .or if it has none. */}}
{{- define "floor-server.port" -}}
{{ regexFind ":[0-9]+(/|$)" .url | trimPrefix ":" | trimSuffix "/" | default (toString .or) }}
{{- end }}

{{/* The image with the version .tag, or that of .digest. */}}
{{- define "floor-server.image" -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end }}

{{/* A size as 512MiB, 4GiB, 1Gi or 1024Mi in MiB; others as 0. */}}
{{- define "floor-server.mebibytes" -}}
{{- $number := regexFind "^[0-9]+" (toString .) | default "0" | int64 -}}
{{- if regexMatch "^[0-9]+(GiB|Gi)$" (toString .) }}{{ mul $number 1024 }}{{ else if regexMatch "^[0-9]+(TiB|Ti)$" (toString .) }}{{ mul $number 1048576 }}{{ else if regexMatch "^[0-9]+(MiB|Mi)$" (toString .) }}{{ $number }}{{ else }}0{{ end }}
{{- end }}

{{/* The configuration of .root's servers, with the keys of .other over it, as a table. */}}
{{- define "floor-server.config" -}}
{{- $values := .root.Values -}}
{{- $config := mergeOverwrite (deepCopy $values.config) (deepCopy .other) -}}
{{- $set := dict "grpc" (dict "drain_delay" (printf "%ds" (int $values.drain.delaySeconds)) "drain" (printf "%ds" (int $values.drain.callsSeconds))) -}}
{{- with $values.secrets.tls -}}
{{- $tls := dict "cert" "/etc/floor-server/tls/tls.crt" "key" "/etc/floor-server/tls/tls.key" -}}
{{- if $values.clientCa }}{{ $_ := set $tls "client_ca" "/etc/floor-server/tls/ca.crt" }}{{ end -}}
{{- $_ := set $set.grpc "tls" $tls -}}
{{- end -}}
{{- if $values.secrets.tokens }}{{ $_ := set $set "auth" (dict "tokens_file" "/etc/floor-server/tokens/tokens.toml") }}{{ end -}}
{{- if $values.secrets.operations }}{{ $_ := set $set "ops" (dict "token_file" "/etc/floor-server/operations/token") }}{{ end -}}
{{- /* Never the default, a key of each server's own. */ -}}
{{- $_ := set $set "towers" (dict "key_file" (ternary "/etc/floor-server/tower-keys/keys" "" (ne $values.secrets.towerKeys ""))) -}}
{{- $cache := dict -}}
{{- if $values.secrets.cacheKeys }}{{ $_ := set $cache "keys_file" "/etc/floor-server/cache-keys/keys" }}{{ end -}}
{{- if $values.redis.url -}}
{{- $redis := dict "url" $values.redis.url -}}
{{- if $values.redis.passwordSecret }}{{ $_ := set $redis "password_file" "/etc/floor-server/redis/password" }}{{ end -}}
{{- if $values.redis.caSecret }}{{ $_ := set $redis "ca" "/etc/floor-server/redis-ca/ca.crt" }}{{ end -}}
{{- $_ := set $cache "redis" $redis -}}
{{- end -}}
{{- if $cache }}{{ $_ := set $set "cache" $cache }}{{ end -}}
{{- if or $values.packs.configMaps $values.packs.existingClaim }}{{ $_ := set $set "packs" (dict "dir" "/etc/floor-server/packs") }}{{ end -}}
{{- mergeOverwrite $config $set | toYaml -}}
{{- end }}

{{/* A table of tables as TOML. toToml would write whole numbers with a fraction, which the server refuses. */}}
{{- define "floor-server.toml" -}}
{{- range $table, $keys := . }}
[{{ $table }}]
{{- range $key, $value := $keys }}{{ if not (kindIs "map" $value) }}
{{ $key }} = {{ include "floor-server.value" $value }}
{{- end }}{{ end }}
{{- range $inner, $keys := $keys }}{{ if kindIs "map" $keys }}
[{{ $table }}.{{ $inner }}]
{{- range $key, $value := $keys }}
{{ $key }} = {{ include "floor-server.value" $value }}
{{- end }}
{{- end }}{{ end }}
{{- end }}
{{- end }}

{{- define "floor-server.value" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ toJson . }}{{ end }}
{{- end }}

{{/* Refuses values that contradict each other. */}}
{{- define "floor-server.check" -}}
{{- $values := .root.Values -}}
{{- $config := include "floor-server.config" . | fromYaml -}}
{{- $chain := dig "cache" "chain" (list "lru" "lmdb") $config -}}
{{- if and (has "redis" $chain) (not $values.redis.url) }}{{ fail "config.cache.chain names redis: set redis.url" }}{{ end -}}
{{- if and $values.redis.url (not (has "redis" $chain)) }}{{ fail "redis.url is set: name redis in config.cache.chain" }}{{ end -}}
{{- if and $values.clientCa (not $values.secrets.tls) }}{{ fail "clientCa needs secrets.tls, a Secret with tls.crt, tls.key and ca.crt" }}{{ end -}}
{{- if and $values.canary.enabled (not (or $values.canary.tag $values.canary.digest)) }}{{ fail "canary.enabled needs canary.tag or canary.digest, the version to try" }}{{ end -}}
{{- if and $values.route.enabled (not $values.route.parentRefs) }}{{ fail "route.enabled needs route.parentRefs, the gateways" }}{{ end -}}
{{- if and $values.autoscaling.enabled (gt (int $values.autoscaling.minReplicas) (int $values.autoscaling.maxReplicas)) }}{{ fail "autoscaling.minReplicas is more than autoscaling.maxReplicas" }}{{ end -}}
{{- if and $values.packs.configMaps $values.packs.existingClaim }}{{ fail "packs.configMaps and packs.existingClaim are two places for packs: name one" }}{{ end -}}
{{- $default := dig "packs" "default" "tower" $config -}}
{{- if and (ne $default "tower") (not (or $values.packs.configMaps $values.packs.existingClaim)) }}{{ fail (printf "config.packs.default is %s, which is no built-in pack: name its ConfigMap in packs.configMaps, or a claim in packs.existingClaim" $default) }}{{ end -}}
{{- /* docs/operating.md, "Memory": 1.25 times the LRU, 173 MiB, 64 MiB for each lower tier. */ -}}
{{- $lru := include "floor-server.mebibytes" (dig "cache" "lru" "capacity" "256MiB" $config) | int64 -}}
{{- $lower := without $chain "lru" | len -}}
{{- $most := add (div (mul $lru 5) 4) 173 (mul 64 $lower) -}}
{{- $limit := include "floor-server.mebibytes" $values.resources.limits.memory | int64 -}}
{{- if lt $limit $most }}{{ fail (printf "resources.limits.memory %s is less than the %d MiB that a server with this configuration takes: raise it, or lower config.cache.lru.capacity" $values.resources.limits.memory $most) }}{{ end -}}
{{- $map := include "floor-server.mebibytes" (dig "cache" "lmdb" "map_size" "4GiB" $config) | int64 -}}
{{- $disk := include "floor-server.mebibytes" $values.persistence.size | int64 -}}
{{- if and (has "lmdb" $chain) (gt $map $disk) }}{{ fail (printf "config.cache.lmdb.map_size is %d MiB, more than the disk of %s in persistence.size: lower the first or raise the second" $map $values.persistence.size) }}{{ end -}}
{{- end }}

{{/* The Secrets to mount: a name, a Secret and a path below /etc/floor-server each. */}}
{{- define "floor-server.mounts" -}}
{{- $values := .Values -}}
{{- range $name, $secret := dict "tls" $values.secrets.tls "tokens" $values.secrets.tokens "operations" $values.secrets.operations "cache-keys" $values.secrets.cacheKeys "tower-keys" $values.secrets.towerKeys "redis" $values.redis.passwordSecret "redis-ca" $values.redis.caSecret }}
{{- if $secret }}
- { name: {{ $name }}, secret: {{ $secret }} }
{{- end }}
{{- end }}
{{- end }}
