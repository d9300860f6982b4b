#!/usr/bin/env bash
# Runs one trial of one workload: pins, times, samples, keeps the logs, and judges nothing.
# What goes in and comes out is written down in README.md beside this file.
# The file is part of every benchmark's hash, so it sources nothing.
set -u -o pipefail +o posix

# The workload's environment as it was handed over: bash exports its own variables under names that came in, so a
# config's `name` or `status` would reach the workload with what this script keeps there. And some names steer bash.
inherited=()
{ mapfile -d '' -t inherited </proc/self/environ; } 2>/dev/null
unset FUNCNEST TMOUT GLOBIGNORE EXECIGNORE TIMEFORMAT

fail() {
  printf 'bench_runner: %s\n' "$1" >&2
  exit "${2:-64}"
}

((BASH_VERSINFO[0] > 4 || (BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4))) ||
  fail "BASH is too old: 4.4 or newer is needed, this is $BASH_VERSION"

# No leading zero, which arithmetic would read as octal, and no more digits than arithmetic can hold.
need_number() {
  [[ ${!1} =~ ^(0|[1-9][0-9]{0,8})$ ]] || fail "$1 must be a whole number, but is '${!1}'"
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
TELEMETRY=${TELEMETRY:-on}

# A command of its own stands in the arguments, behind `--`; else the workload is what the launcher starts.
command=()
if (($# > 0)); then
  [[ $1 == -- && $# -gt 1 ]] || fail 'COMMAND must stand behind --, as the only arguments'
  command=("${@:2}")
  [[ -z $WORKLOAD || -r $WORKLOAD ]] || fail "WORKLOAD cannot be read: '$WORKLOAD'"
else
  [[ -n $WORKLOAD ]] || fail 'WORKLOAD is not set; give the path of the workload script'
  [[ -f $WORKLOAD ]] || fail "WORKLOAD names no file: '$WORKLOAD'"
  [[ -r $WORKLOAD ]] || fail "WORKLOAD cannot be read: '$WORKLOAD'"
fi
[[ -n $OUT_DIR ]] || fail 'OUT_DIR is not set; give a folder for the logs and results of this trial'
[[ -n $STEPS ]] || fail 'STEPS is not set; give the number of measured steps'
[[ -n $CONFIG_JSON ]] || fail 'CONFIG_JSON is not set; give the config as JSON, or the path of a file that holds it'
for name in STEPS WARMUP_STEPS TIMEOUT_SECONDS KILL_GRACE_SECONDS; do need_number "$name"; done
((STEPS > 0)) || fail 'STEPS must be at least 1'
((TIMEOUT_SECONDS > 0)) || fail 'TIMEOUT_SECONDS must be at least 1'
[[ $GPU_IDS =~ ^([0-9A-Za-z-]+(,[0-9A-Za-z-]+)*)?$ ]] || fail "GPU_IDS must be ids joined by commas, but is '$GPU_IDS'"
profile=${PROFILE:-off}
case $profile in
  off | torch | rocprofv3) ;;
  *) fail "PROFILE must be 'off', 'torch' or 'rocprofv3', but is '$profile'" ;;
esac
case $TELEMETRY in
  on | off) ;;
  *) fail "TELEMETRY must be 'on' or 'off', but is '$TELEMETRY'" ;;
esac
if ((${#command[@]} == 0)); then
  IFS=$' \t\n' read -r -d '' -a command <<<"$LAUNCHER" || true
  ((${#command[@]} > 0)) || fail 'LAUNCHER is blank; leave it unset for python3'
  command -v "${command[0]}" >/dev/null || fail "LAUNCHER cannot be found: '${command[0]}'"
  # A name that begins with a dash would be read as an option of the launcher.
  case $WORKLOAD in
    -*) command+=("./$WORKLOAD") ;;
    *) command+=("$WORKLOAD") ;;
  esac
else
  command -v "${command[0]}" >/dev/null || fail "COMMAND cannot be found: '${command[0]}'"
fi
container=${CONTAINER:-}
[[ $container =~ ^((docker|podman):[0-9A-Za-z_.-]+)?$ ]] || fail "CONTAINER must be engine:name, but is '$container'"

mkdir -p "$OUT_DIR" || fail "OUT_DIR cannot be made: '$OUT_DIR'"
OUT_DIR=$(cd "$OUT_DIR" && pwd) || fail "OUT_DIR cannot be entered: '$OUT_DIR'"
for name in events.jsonl output trial.json; do
  [[ ! -e $OUT_DIR/$name ]] || fail "OUT_DIR already holds $name; each trial needs a folder of its own"
done

config=$OUT_DIR/config.json
if [[ $CONFIG_JSON =~ ^[[:space:]]*\{ ]]; then
  printf '%s\n' "$CONFIG_JSON" >"$config" || fail "OUT_DIR cannot be written: '$OUT_DIR'" 74
else
  [[ -f $CONFIG_JSON ]] || fail "CONFIG_JSON is neither a JSON object nor a file: '${CONFIG_JSON:0:200}'"
  config=$(cd "$(dirname "$CONFIG_JSON")" && pwd)/$(basename "$CONFIG_JSON")
fi
protocol=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || fail 'the folder of this script cannot be entered'

# Tools that write their results into a file are told its path in an argument.
for index in "${!command[@]}"; do command[index]=${command[index]//'{output}'/"$OUT_DIR/output"}; done

# The user's own modules come before ours.
workload_environment=(
  "BENCH_CONFIG=$config"
  "BENCH_STEPS=$STEPS"
  "BENCH_WARMUP_STEPS=$WARMUP_STEPS"
  "BENCH_EVENTS=$OUT_DIR/events.jsonl"
  "BENCH_OUTPUT=$OUT_DIR/output"
  "PYTHONPATH=${PYTHONPATH:+$PYTHONPATH:}$protocol/workloads"
  PYTHONUNBUFFERED=1
  PYTHONDONTWRITEBYTECODE=1
)
own_variables=(WORKLOAD OUT_DIR STEPS WARMUP_STEPS CONFIG_JSON GPU_IDS PROFILE LAUNCHER TELEMETRY TIMEOUT_SECONDS
  KILL_GRACE_SECONDS CONTAINER BENCH_SYSFS_ROOT BENCH_PROFILE_DIR)
nvidia=
nvidia_uuid='^GPU-[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(,|$)'
if [[ $GPU_IDS =~ $nvidia_uuid ]]; then
  nvidia=1
  workload_environment+=("CUDA_VISIBLE_DEVICES=$GPU_IDS")
elif [[ -n $GPU_IDS ]]; then
  # ROCr counts before HIP does: a list that HIP reads, left in place, would count again among the pinned ones.
  workload_environment+=("ROCR_VISIBLE_DEVICES=$GPU_IDS")
  own_variables+=(HIP_VISIBLE_DEVICES GPU_DEVICE_ORDINAL CUDA_VISIBLE_DEVICES)
fi

# Fills `profiler` with what goes before the launcher, and says in the folder who traced. A profiled trial is never
# a measured one: tracing slows the workload.
find_profiler() {
  local folder=$OUT_DIR/profile found=
  profiler=()
  [[ $profile != off ]] || return
  mkdir -p "$folder" || fail "OUT_DIR cannot be written: '$OUT_DIR'" 74
  workload_environment+=("BENCH_PROFILE_DIR=$folder")
  if [[ $profile == rocprofv3 && -n $GPU_IDS && -z $nvidia ]]; then
    # ROCm's packages do not put it on the PATH.
    found=$(type -P rocprofv3 || type -P "${ROCM_PATH:-/opt/rocm}/bin/rocprofv3") || found=
  fi
  # From 7.0 on the default is a database.
  [[ -z $found ]] || profiler=("$found" --kernel-trace --memory-copy-trace --stats --output-format csv
    -d "$folder/rocprofv3" --)
  printf '%s\n' "${found:+rocprofv3}" >"$OUT_DIR/profiler"
}
find_profiler

# Fills `passed` with the arguments of `env` that make the environment as it was handed over, without our own.
pass_environment() {
  local entry name
  passed=()
  if ((${#inherited[@]} == 0)); then
    # Where the kernel does not tell it, what bash has made of it must do.
    for name in "${own_variables[@]}"; do passed+=(-u "$name"); done
    return
  fi
  passed=(-i)
  for entry in "${inherited[@]}"; do
    [[ " ${own_variables[*]} " == *" ${entry%%=*} "* ]] || passed+=("$entry")
  done
}
pass_environment

# Sets `micros` to microseconds since the epoch. Bash before 5 has no EPOCHREALTIME; its point follows the locale.
read_clock() {
  local now=${EPOCHREALTIME:-$(date +%s).000000}
  micros=${now//[.,]/}
}

# Sets `ticks` to microseconds on a clock that nobody sets; where there is none, the one above has to do.
read_ticks() {
  local up=
  [[ ! -r /proc/uptime ]] || read -r up _ </proc/uptime || up=
  if [[ $up =~ ^[0-9]+\.[0-9][0-9]$ ]]; then
    ticks=${up/./}0000
    return
  fi
  local micros
  read_clock
  ticks=$micros
}

# Sets `iso` to ISO 8601 in UTC of a time in microseconds.
write_time() {
  local -x TZ=UTC
  printf -v iso '%(%Y-%m-%dT%H:%M:%S)T.%03dZ' "$(($1 / 1000000))" "$(($1 / 1000 % 1000))"
}

# Sets `value` to the first line of a file, or to nothing. A copy may lack the line's end.
line_of() {
  value=
  [[ ! -r $1 ]] || IFS= read -r value <"$1" || [[ -n $value ]] || value=
}

# Sets `value` to the whole number in a file, or to nothing.
number_of() {
  line_of "$1"
  [[ $value =~ ^[0-9]{1,18}$ ]] || value=
}

# Sets `address` to the PCI address in a device's uevent, or to nothing.
address_of() {
  local line
  address=
  [[ -r $1/uevent ]] || return
  while IFS= read -r line; do
    [[ $line != PCI_SLOT_NAME=* ]] || address=${line#PCI_SLOT_NAME=}
  done <"$1/uevent"
}

sysfs=${BENCH_SYSFS_ROOT:-/sys}

# Fills `rocr_addresses` with the PCI address and `kfd_ids` with the kernel's id of each GPU in ROCr's order, which is the order of the kernel's
# topology and not that of the bus. Like ROCr it leaves out GPUs whose render node was not passed in.
read_topology() {
  local folder=$sysfs/class/kfd/kfd/topology/nodes dri=/dev/dri index=0 key number
  local simds minor domain location
  [[ $sysfs == /sys ]] || dri=$sysfs/dev/dri
  rocr_addresses=() kfd_ids=()
  for (( ; ; index++)); do
    [[ -d $folder/$index ]] || return
    simds=0 minor=0 domain=0 location=0
    [[ ! -r $folder/$index/properties ]] || while read -r key number; do
      [[ $number =~ ^[0-9]{1,10}$ ]] || continue
      case $key in
        simd_count) simds=$number ;;
        drm_render_minor) minor=$number ;;
        domain) domain=$number ;;
        location_id) location=$number ;;
      esac
    done <"$folder/$index/properties"
    ((simds > 0)) || continue
    ((minor == 0)) || [[ ! -d $dri || -e $dri/renderD$minor ]] || continue
    # A partition's number stands in the function bits; the card that has the sensors is function 0.
    printf -v address '%04x:%02x:%02x.0' "$domain" $((location >> 8 & 255)) $((location >> 3 & 31))
    address_of_minor "$minor"
    number_of "$folder/$index/gpu_id"
    rocr_addresses+=("$address") kfd_ids+=("$value")
  done
}

# Sets `address` to that of the render node when the kernel tells it, else leaves it as it is.
address_of_minor() {
  local known=$address
  address_of "$sysfs/class/drm/renderD$1/device"
  [[ -n $address ]] || address=$known
}

# Fills `cards` with 'address pinned folder' of the pinned AMD cards. When one of the ids cannot be found among
# several cards, all of them are listed with a 0: the reader then knows that no row is proven to be ours.
find_cards() {
  local device id index found all=() addresses=() names=() pinned=()
  cards=() rocr_addresses=() kfd_ids=()
  for device in "$sysfs"/class/drm/card*/device; do
    # Connectors stand beside the cards, as card0-DP-1.
    [[ $device =~ /card[0-9]+/device$ ]] || continue
    line_of "$device/vendor"
    [[ $value == 0x1002 ]] || continue
    address_of "$device"
    line_of "$device/unique_id"
    all+=("$device") addresses+=("${address:-unknown}") names+=("GPU-$value")
  done
  ((${#all[@]} > 0)) || return
  read_topology
  if ((${#all[@]} == 1)); then
    cards=("${addresses[0]} 1 ${all[0]}")
    return
  fi
  local sure=1
  for id in ${GPU_IDS//,/ }; do
    found=
    for index in "${!all[@]}"; do
      if [[ $id =~ ^[0-9]{1,4}$ ]]; then
        [[ ${addresses[index]} == "${rocr_addresses[10#$id]:-none}" ]] || continue
      else
        [[ ${names[index]} == "$id" ]] || continue
      fi
      found=$index
    done
    if [[ -n $found ]]; then pinned[found]=1; else sure=0; fi
  done
  for index in "${!all[@]}"; do
    if ((sure == 0)); then
      cards+=("${addresses[index]} 0 ${all[index]}")
    elif [[ -n ${pinned[index]:-} ]]; then
      cards+=("${addresses[index]} 1 ${all[index]}")
    fi
  done
}

# Finds once for each card where its sensors are: hwmon's numbers differ from host to host.
find_sensors() {
  local card device file index
  power_files=() clock_files=() memory_clock_files=() hotspot_files=() memory_heat_files=() process_files=()
  for card in "${cards[@]}"; do
    device=${card#* * }
    power_files+=("$(first_readable "$device"/hwmon/hwmon*/power1_average "$device"/hwmon/hwmon*/power1_input)")
    clock_files+=("$(labelled "$device" freq sclk)")
    memory_clock_files+=("$(labelled "$device" freq mclk)")
    hotspot_files+=("$(labelled "$device" temp junction)")
    memory_heat_files+=("$(labelled "$device" temp mem)")
    file=
    for index in "${!rocr_addresses[@]}"; do
      # The partitions of a card share its address, and a neighbour in any of them is one.
      [[ ${rocr_addresses[index]} != "${card%% *}" || -z ${kfd_ids[index]} ]] || file+=" vram_${kfd_ids[index]}"
    done
    process_files+=("$file")
  done
}

first_readable() {
  local file
  for file in "$@"; do
    number_of "$file"
    [[ -z $value ]] || { printf %s "$file" && return; }
  done
}

# Prints the path of the sensor of a kind that carries this label.
labelled() {
  local file
  for file in "$1"/hwmon/hwmon*/"$2"*_label; do
    line_of "$file"
    [[ $value != "$3" ]] || { printf %s "${file%_label}_input" && return; }
  done
}

# Host process ids stand in the kernel's list; they are ours to look up only outside of a container.
host_processes=
[[ $(readlink /proc/self/ns/pid 2>/dev/null) != 'pid:[4026531836]' ]] || host_processes=1

# Whether a living process belongs to the trial: by its group, its session, or the trial's name in its environment.
is_ours() {
  local line='' group session
  [[ -n $workload ]] || return
  [[ ! -r /proc/$1/stat ]] || IFS= read -r line <"/proc/$1/stat" || line=
  line=${line##*) }
  line=${line#* * }
  group=${line%% *}
  line=${line#* }
  session=${line%% *}
  [[ $group == "$workload" || $session == "$workload" ]] ||
    grep -qsF -- "BENCH_EVENTS=$OUT_DIR/events.jsonl" "/proc/$1/environ"
}

# Sets `users` to the processes with memory on a card, as `id=bytes` with a mark: `o` of this trial, `f` of somebody
# else, `u` when that cannot be told here.
find_users() {
  local file id mark
  users=
  [[ -n $1 ]] || return
  for id in "$sysfs"/class/kfd/kfd/proc/[0-9]*; do
    for file in $1; do
      number_of "$id/$file"
      ((${value:-0} > 0)) || continue
      mark=u
      [[ -z $host_processes ]] || { mark=f && is_ours "${id##*/}" && mark=o; }
      users+="${users:+ }${id##*/}=$value$mark"
    done
  done
}

# One line for each card; a value that cannot be read stays empty. One program is started, for the binary table.
sample() {
  local index card device busy vram gtt power clock memory_clock hotspot memory_heat metrics value micros users
  local row
  total_vram=0
  read_clock
  printf -v row '%d.%06d' $((micros / 1000000)) $((micros % 1000000))
  for index in "${!cards[@]}"; do
    card=${cards[index]}
    device=${card#* * }
    number_of "$device/gpu_busy_percent"
    busy=$value
    number_of "$device/mem_info_vram_used"
    vram=$value
    total_vram=$((total_vram + ${value:-0}))
    number_of "$device/mem_info_gtt_used"
    gtt=$value
    number_of "${power_files[index]:-/dev/null}"
    power=$value
    number_of "${clock_files[index]:-/dev/null}"
    clock=$value
    number_of "${memory_clock_files[index]:-/dev/null}"
    memory_clock=$value
    number_of "${hotspot_files[index]:-/dev/null}"
    hotspot=$value
    number_of "${memory_heat_files[index]:-/dev/null}"
    memory_heat=$value
    metrics=
    if [[ -r $device/gpu_metrics ]]; then
      metrics=$(od -An -v -tx1 -N 384 "$device/gpu_metrics" 2>/dev/null)
      metrics=${metrics//[^0-9a-f]/}
    fi
    find_users "${process_files[index]}"
    card=${card#"${card%% *} "}
    printf '%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s\n' "$row" "${cards[index]%% *}" "${card%% *}" "$busy" "$vram" \
      "$gtt" "$power" "$clock" "$memory_clock" "$hotspot" "$memory_heat" "$metrics" "$users"
  done >>"$OUT_DIR/telemetry.csv"
}

# Whether sysfs tells anything of the cards; in virtual machines it may not.
sysfs_tells() {
  local index device value
  for index in "${!cards[@]}"; do
    device=${cards[index]#* * }
    number_of "$device/gpu_busy_percent"
    [[ -z $value ]] || return 0
    number_of "$device/mem_info_vram_used"
    [[ -z $value && -z ${power_files[index]} && ! -s $device/gpu_metrics ]] || return 0
  done
  return 1
}

# Sets `stream` to the command that prints telemetry of the pinned GPUs once a second, when sysfs tells none.
find_stream() {
  local card address
  stream=()
  if [[ -n $nvidia ]]; then
    command -v nvidia-smi >/dev/null || return
    stream=(nvidia-smi -i "$GPU_IDS" --format=csv -l 1
      '--query-gpu=uuid,utilization.gpu,memory.used,power.draw,clocks.sm,clocks.mem,temperature.gpu')
  elif ((${#cards[@]} > 0)) && ! sysfs_tells && command -v amd-smi >/dev/null; then
    stream=(amd-smi monitor --power-usage --temperature --gfx --mem --vram-usage --csv --watch 1)
    for card in "${cards[@]}"; do
      address=${card%% *}
      [[ ${card#* } == 1\ * && $address != unknown ]] || { stream=() && return; }
      stream+=(-g "$address")
    done
  fi
}

# Every line of the tool behind our own time: the tools' times are whole seconds, or none.
follow_stream() {
  local line micros
  PYTHONUNBUFFERED=1 "${stream[@]}" 2>/dev/null | while IFS= read -r line; do
    read_clock
    printf '%d.%06d,%s\n' $((micros / 1000000)) $((micros % 1000000)) "${line:0:4000}"
  done >>"$OUT_DIR/telemetry-${stream[0]}.csv"
}

# Sets `parent` to the parent of a process, or to nothing when that cannot be known.
parent_of() {
  local line=
  parent=
  [[ ! -r /proc/$1/stat ]] || IFS= read -r line <"/proc/$1/stat" || line=
  # The name between the parentheses may hold anything.
  line=${line##*) }
  line=${line#* }
  parent=${line%% *}
}

# Fills `left` with the living processes of the trial: its group, its session, and by their environment those
# that left both (torchrun gives each worker a session of its own).
find_left() {
  local file line state group session
  left=()
  if [[ ! -r /proc/self/stat ]]; then
    ! kill -0 -- "-$workload" 2>/dev/null || left=("-$workload")
    return
  fi
  for file in /proc/[0-9]*/stat; do
    line=
    IFS= read -r line <"$file" || continue
    line=${line##*) }
    state=${line%% *}
    line=${line#* * }
    group=${line%% *}
    line=${line#* }
    session=${line%% *}
    [[ $group == "$workload" || $session == "$workload" ]] || continue
    # A zombie is dead; without an init in the container nobody may ever reap it.
    [[ $state == [ZX] ]] || { file=${file%/stat} && left+=("${file#/proc/}"); }
  done
  while IFS= read -r file; do
    file=${file%/environ}
    left+=("${file#/proc/}")
  done < <(grep -lsF -- "BENCH_EVENTS=$OUT_DIR/events.jsonl" /proc/[0-9]*/environ)
} 2>/dev/null

# SIGTERM to all that is left of the trial, SIGKILL to what outlives the grace in seconds; then waits for the end.
stop_left() {
  local grace=$1 waited=0 left
  find_left
  ((${#left[@]} > 0)) || { remove_container && return; }
  kill -TERM -- "${left[@]}" 2>/dev/null
  kill -CONT -- "${left[@]}" 2>/dev/null
  for ((; ${#left[@]} > 0 && waited < grace * 10; waited++)); do
    sleep 0.1
    find_left
  done
  for ((waited = 0; ${#left[@]} > 0 && waited < 50; waited++)); do
    kill -KILL -- "${left[@]}" 2>/dev/null
    sleep 0.1
    find_left
  done
  remove_container
}

# A container belongs to its engine's daemon, and outlives the client that was told to run it.
remove_container() {
  [[ -z $container ]] || timeout 20 "${container%%:*}" rm --force "${container#*:}" >/dev/null 2>&1 </dev/null || true
}

# Once a second: whether this script and its parent still live, the deadline, one sample.
watch_over() {
  trap - TERM INT HUP ALRM
  renice -n 19 -p "$BASHPID"
  local begun=$SECONDS rung='' parent ticks next pause
  ((${#stream[@]} == 0)) || follow_stream &
  read_ticks
  next=$ticks
  while :; do
    # Aims at whole seconds from the begin, so that the time of a sample does not add up.
    read_ticks
    for ((next += 1000000; next < ticks; next += 1000000)); do :; done
    printf -v pause '%d.%06d' $(((next - ticks) / 1000000)) $(((next - ticks) % 1000000))
    sleep "$pause" || sleep 1
    parent_of "$BASHPID"
    [[ -z $parent || $parent == "$main" ]] || { stop_left 2 && return; }
    # Another process adopts this script when its parent dies.
    parent_of "$main"
    [[ -z $parent || $parent == "$PPID" ]] || kill -TERM "$main"
    ((SECONDS - begun < TIMEOUT_SECONDS)) || [[ -n $rung ]] || { kill -ALRM "$main" && rung=1; }
    ((${#cards[@]} == 0)) || sample
  done
}

# The shell reports a death by signal as 128 and its number; there are 64 signals, and exit codes above them.
write_trial() {
  local signal=null code=$1 name iso started_at
  if ((code > 128 && code <= 192)); then
    name=$(kill -l $((code - 128)) 2>/dev/null) && [[ -n $name ]] && signal=\"SIG${name#SIG}\"
  fi
  write_time "$started" && started_at=$iso
  write_time "$micros"
  printf '{"schema":1,"exit_code":%d,"signal":%s,"timed_out":%s,"cancelled":%s,"started_at":"%s","ended_at":"%s","seconds":%d.%06d}\n' \
    "$code" "$signal" "$timed_out" "$cancelled" "$started_at" "$iso" $((took / 1000000)) $((took % 1000000)) \
    >"$OUT_DIR/trial.json.part" && mv "$OUT_DIR/trial.json.part" "$OUT_DIR/trial.json"
}

main=$$
workload=
timed_out=false
cancelled=false
interrupted=
stopping=

# Called by the traps. Stops at once, as a flag alone could be raised just before a `wait` that then would not return.
# shellcheck disable=SC2329
interrupt() {
  interrupted=1
  # A signal sent again must not begin the grace again.
  [[ -z $workload || -n $stopping ]] || { stopping=1 && stop_left "$KILL_GRACE_SECONDS"; }
}
trap '[[ -n $stopping ]] || timed_out=true; interrupt' ALRM
trap '[[ -n $stopping ]] || cancelled=true; interrupt' TERM INT HUP

cards=() stream=() total_vram=0
if [[ -n $GPU_IDS && $TELEMETRY == on ]]; then
  [[ -n $nvidia ]] || find_cards
  find_sensors
  find_stream
  printf '%s%s\n' 'time_s,card,pinned,busy_pct,vram_used_bytes,gtt_used_bytes,power_uw,gfx_clock_hz,mem_clock_hz,' \
    'hotspot_mc,memory_mc,gpu_metrics,processes' >"$OUT_DIR/telemetry.csv"
  ((${#cards[@]} == 0)) || sample
fi
start_vram=$total_vram

# With job control each background job leads a process group of its own, which can be stopped as one.
set -m
read_clock
started=$micros
read_ticks
begun=$ticks
env "${passed[@]}" "${workload_environment[@]}" "${profiler[@]}" "${command[@]}" \
  </dev/null >"$OUT_DIR/stdout.log" 2>"$OUT_DIR/stderr.log" &
workload=$!
watch_over </dev/null >/dev/null 2>&1 &
watcher=$!
disown "$watcher"
set +m
# A signal may have come before there was anything to stop.
[[ -z $interrupted ]] || interrupt

code=
while :; do
  interrupted=
  wait "$workload" 2>/dev/null
  status=$?
  # A second wait for a job whose status is known says 127.
  [[ -n $code && $status -eq 127 ]] || code=$status
  [[ -n $interrupted ]] || break
done
read_ticks
took=$((ticks > begun ? ticks - begun : 0))
read_clock
kill -KILL -- "-$watcher" 2>/dev/null
# What the workload left running would disturb the next trial.
stop_left 1
# Memory that is not given back shows in the last line; the driver needs a moment to take it.
for ((tries = 0; ${#cards[@]} > 0 && tries < 5; tries++)); do
  sleep 0.5
  sample
  ((total_vram > start_vram + 100000000)) || break
done

write_trial "$code" || fail "OUT_DIR cannot be written: '$OUT_DIR'" 74
[[ $cancelled == false ]] || exit 143
exit 0
