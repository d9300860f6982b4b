#!/usr/bin/env bash
# Runs one trial of one workload: pins, times, samples, keeps the logs, and judges nothing.
# What goes in and comes out is written down in README.md beside this file.
# The file is part of every benchmark's hash, so it sources nothing.
set -u -o pipefail

fail() {
  printf 'bench_runner: %s\n' "$1" >&2
  exit 64
}

need_number() {
  [[ ${!1} =~ ^[0-9]+$ ]] || fail "$1 must be a whole number, but is '${!1}'"
}

WORKLOAD=${WORKLOAD:-}
OUT_DIR=${OUT_DIR:-}
STEPS=${STEPS:-}
WARMUP_STEPS=${WARMUP_STEPS:-2}
CONFIG_JSON=${CONFIG_JSON:-}
GPU_IDS=${GPU_IDS:-}
LAUNCHER=${LAUNCHER:-python3}
TIMEOUT_SECONDS=${TIMEOUT_SECONDS:-1800}
KILL_GRACE_SECONDS=${KILL_GRACE_SECONDS:-10}

[[ -n $WORKLOAD ]] || fail 'WORKLOAD is not set; give the path of the workload script'
[[ -f $WORKLOAD ]] || fail "WORKLOAD names no file: '$WORKLOAD'"
[[ -n $OUT_DIR ]] || fail 'OUT_DIR is not set; give a folder for the logs and results of this trial'
[[ -n $STEPS ]] || fail 'STEPS is not set; give the number of measured steps'
[[ -n $CONFIG_JSON ]] || fail 'CONFIG_JSON is not set; give the config as JSON, or the path of a file that holds it'
for name in STEPS WARMUP_STEPS TIMEOUT_SECONDS KILL_GRACE_SECONDS; do need_number "$name"; done
((STEPS > 0)) || fail 'STEPS must be at least 1'
((TIMEOUT_SECONDS > 0)) || fail 'TIMEOUT_SECONDS must be at least 1'
[[ $GPU_IDS =~ ^([0-9A-Za-z-]+(,[0-9A-Za-z-]+)*)?$ ]] || fail "GPU_IDS must be ids joined by commas, but is '$GPU_IDS'"
case ${PROFILE:-} in
  '' | off) ;;
  *) fail "PROFILE must be 'off': profiling slows the workload and is no part of a measured trial" ;;
esac
read -r -a launcher <<<"$LAUNCHER"
((${#launcher[@]} > 0)) || fail 'LAUNCHER is blank; leave it unset for python3'
command -v "${launcher[0]}" >/dev/null || fail "LAUNCHER cannot be found: '${launcher[0]}'"

mkdir -p "$OUT_DIR" || fail "OUT_DIR cannot be made: '$OUT_DIR'"
OUT_DIR=$(cd "$OUT_DIR" && pwd) || fail "OUT_DIR cannot be entered: '$OUT_DIR'"
for name in events.jsonl trial.json; do
  [[ ! -e $OUT_DIR/$name ]] || fail "OUT_DIR already holds $name; each trial needs a folder of its own"
done

case $CONFIG_JSON in
  '{'*) printf '%s\n' "$CONFIG_JSON" >"$OUT_DIR/config.json" ;;
  *)
    [[ -f $CONFIG_JSON ]] || fail "CONFIG_JSON is neither a JSON object nor a file: '${CONFIG_JSON:0:200}'"
    BENCH_CONFIG=$(cd "$(dirname "$CONFIG_JSON")" && pwd)/$(basename "$CONFIG_JSON")
    ;;
esac
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || fail 'the folder of this script cannot be entered'

# A name that begins with a dash would be read as an option of the launcher.
case $WORKLOAD in
  /*) script=$WORKLOAD ;;
  *) script=./$WORKLOAD ;;
esac

workload_environment=(
  "BENCH_CONFIG=${BENCH_CONFIG:-$OUT_DIR/config.json}"
  "BENCH_STEPS=$STEPS"
  "BENCH_WARMUP_STEPS=$WARMUP_STEPS"
  "BENCH_EVENTS=$OUT_DIR/events.jsonl"
  "PYTHONPATH=$here/../workloads${PYTHONPATH:+:$PYTHONPATH}"
  PYTHONUNBUFFERED=1
  PYTHONDONTWRITEBYTECODE=1
)
own_variables=(-u WORKLOAD -u OUT_DIR -u STEPS -u WARMUP_STEPS -u CONFIG_JSON -u GPU_IDS -u PROFILE -u LAUNCHER
  -u TIMEOUT_SECONDS -u KILL_GRACE_SECONDS -u BENCH_SYSFS_ROOT)
if [[ -n $GPU_IDS ]]; then
  # ROCr counts before HIP does: a HIP list left in place would count again among the pinned ones.
  workload_environment+=("ROCR_VISIBLE_DEVICES=$GPU_IDS")
  own_variables+=(-u HIP_VISIBLE_DEVICES -u GPU_DEVICE_ORDINAL)
fi

# Sets `time` to seconds since the epoch. Bash before 5 has no EPOCHREALTIME; its radix character follows the locale.
read_clock() {
  time=${EPOCHREALTIME:-$(date +%s).0}
  time=${time/,/.}
}

# Folders of the pinned AMD cards in sysfs, in PCI order, which is the order that ROCr numbers them in.
pinned_cards() {
  local root=${BENCH_SYSFS_ROOT:-/sys} device vendor line address
  for device in "$root"/class/drm/card*/device; do
    [[ -r $device/vendor && ${device%/device} != *-* ]] || continue
    read -r vendor <"$device/vendor"
    [[ $vendor == 0x1002 ]] || continue
    address=
    while read -r line; do
      [[ $line != PCI_SLOT_NAME=* ]] || address=${line#PCI_SLOT_NAME=}
    done <"$device/uevent"
    printf '%s %s\n' "$address" "$device"
  done | sort | {
    local index=0
    while read -r address device; do
      [[ ,$GPU_IDS, != *,$index,* ]] || printf '%s %s\n' "${address:-unknown}" "$device"
      index=$((index + 1))
    done
  }
}

# Sets `value` to the whole number in a file, or to nothing.
value_of() {
  value=
  [[ ! -r $1 ]] || read -r value <"$1" 2>/dev/null || value=
  [[ $value =~ ^[0-9]+$ ]] || value=
}

# One line for each pinned card; an unreadable value stays empty. Builtins only: nothing is forked.
sample() {
  local index address device busy vram power file time value
  read_clock
  for index in "${!cards[@]}"; do
    address=${cards[index]%% *}
    device=${cards[index]#* }
    value_of "$device/gpu_busy_percent"
    busy=$value
    value_of "$device/mem_info_vram_used"
    vram=$value
    power=
    for file in "$device"/hwmon/hwmon*/power1_average "$device"/hwmon/hwmon*/power1_input; do
      value_of "$file"
      [[ -z $value ]] || { power=$value && break; }
    done
    printf '%s,%s,%s,%s,%s\n' "$time" "$address" "$busy" "$vram" "$power"
  done >>"$OUT_DIR/telemetry.csv"
}

# Whether the process that started this script still lives: another one adopts the script when it dies.
parent_lives() {
  local stat
  if [[ -r /proc/$main/stat ]]; then
    read -r stat <"/proc/$main/stat"
    stat=${stat##*) }
    stat=${stat#* }
    [[ ${stat%% *} == "$PPID" ]]
  else
    kill -0 "$PPID" 2>/dev/null
  fi
}

# Once a second: the deadline, the parent, one sample.
watch_over() {
  trap - TERM INT ALRM
  local started=$SECONDS
  while sleep 1; do
    ((SECONDS - started < TIMEOUT_SECONDS)) || { kill -ALRM "$main" && return; }
    parent_lives || { kill -TERM "$main" && return; }
    ((${#cards[@]} == 0)) || sample
  done
}

group_lives() { kill -0 -- "-$workload" 2>/dev/null; }

# SIGTERM to the whole group, SIGKILL to what is left of it after the grace in seconds.
stop_group() {
  local grace=$1 waited=0
  kill -TERM -- "-$workload" 2>/dev/null
  kill -CONT -- "-$workload" 2>/dev/null
  while group_lives && ((waited < grace * 10)); do
    sleep 0.1
    waited=$((waited + 1))
  done
  kill -KILL -- "-$workload" 2>/dev/null
}

write_trial() {
  local signal=null code=$1
  ((code <= 128)) || signal=\"SIG$(kill -l $((code - 128)) 2>/dev/null || printf '%s' $((code - 128)))\"
  printf '{"schema":1,"exit_code":%d,"signal":%s,"timed_out":%s,"cancelled":%s,"started_at":"%s","ended_at":"%s","seconds":%s}\n' \
    "$code" "$signal" "$timed_out" "$cancelled" "$started_at" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$2" \
    >"$OUT_DIR/trial.json.part" && mv "$OUT_DIR/trial.json.part" "$OUT_DIR/trial.json"
}

main=$$
timed_out=false
cancelled=false
interrupted=
trap 'timed_out=true; interrupted=1' ALRM
trap 'cancelled=true; interrupted=1' TERM INT

cards=()
if [[ -n $GPU_IDS ]]; then
  while read -r card; do cards+=("$card"); done < <(pinned_cards)
  printf 'time_s,card,busy_pct,vram_used_bytes,power_uw\n' >"$OUT_DIR/telemetry.csv"
  ((${#cards[@]} == 0)) || sample
fi

# With job control each background job leads a process group of its own, which can be stopped as one.
set -m
started_at=$(date -u +%Y-%m-%dT%H:%M:%SZ)
read_clock
started=$time
env "${own_variables[@]}" "${workload_environment[@]}" "${launcher[@]}" "$script" \
  </dev/null >"$OUT_DIR/stdout.log" 2>"$OUT_DIR/stderr.log" &
workload=$!
watch_over </dev/null >/dev/null 2>&1 &
watcher=$!
disown "$watcher"
set +m

code=
while :; do
  [[ -z $interrupted ]] || { interrupted= && stop_group "$KILL_GRACE_SECONDS"; }
  wait "$workload" 2>/dev/null
  status=$?
  # A second wait for a job whose status is known says 127.
  [[ -n $code && $status -eq 127 ]] || code=$status
  [[ -n $interrupted ]] || break
done
read_clock
kill -KILL -- "-$watcher" 2>/dev/null
# What the workload left running would disturb the next trial.
! group_lives || stop_group 1

seconds=$(awk -v a="$started" -v b="$time" 'BEGIN { printf "%.6f", b - a }')
write_trial "$code" "$seconds" || fail "OUT_DIR cannot be written: '$OUT_DIR'"
[[ $cancelled == false ]] || exit 143
exit 0
