import { shellQuote } from '../../core/execution.ts'

/**
 * File operations as scripts for any POSIX shell with the tools of GNU, busybox or macOS. File names may contain anything: they
 * are never taken for options (paths are absolute) and never part of a line that is parsed.
 */
export const scripts = {
  /** Line 1: kind, fields and checksum; the rest: the real path. */
  stat: (path: string) => `${start(path)}${infoOf}${there}
info "$p"; real "$p"; printf '%s|%s|%s\\n%s' "$k" "$s" "$c" "$r"`,

  /** Line 1 as of `stat`; line 2: the content when it is small, else `-`; the rest: the real path. */
  open: (path: string, mostAtOnce: number) => `${start(path)}${infoOf}${there}${readable}
info "$p"; real "$p"; printf '%s|%s|%s\\n' "$k" "$s" "$c"
if [ "\${s%%|*}" -le ${mostAtOnce} ]; then printf :; base64 < "$r" | tr -d '\\n'; printf '.\\n'; else echo -; fi
printf %s "$r"`,

  /** A part of a file, if it still has this device and inode. */
  read: (
    path: string,
    identity: string,
    position: number,
    length: number,
  ) => `${start(path)}${infoOf}${there}${readable}
info "$p"; case $s in *'|${identity}|'*) ;; *) exit ${exits.ESTALE};; esac
printf :; tail -c +${position + 1} "$p" | head -c ${length} | base64 | tr -d '\\n'; printf .`,

  /** Each name after a slash and a letter for its kind: no name holds a slash. */
  list: (path: string) => `${start(path)}${there}
[ -d "$p" ] || exit ${exits.ENOTDIR}
[ -r "$p" ] || exit ${exits.EACCES}
cd "$p" || exit 1
printf :
for f in * .*; do
  case $f in .|..) continue;; esac
  if [ -L "./$f" ]; then printf '/f%s' "$f"
  elif [ -d "./$f" ]; then printf '/d%s' "$f"
  elif [ -e "./$f" ]; then printf '/f%s' "$f"; fi
done
printf /.`,

  /** Writes stdin to a temporary file beside the target, then replaces the target by it. */
  write: (path: string, size: number, temporary: string, ifStamp: string | null | undefined) => `${start(path)}${infoOf}
real "$p"; [ -L "$p" ] && { [ -n "$r" ] || missing; p=$r; }
writable() {
  [ ! -d "$p" ] || exit ${exits.EISDIR}
  [ ! -e "$p" ] || [ -f "$p" ] || exit ${exits.EINVAL}
  [ ! -e "$p" ] || [ -w "$p" ] || exit ${exits.EACCES}
  ${unchanged(ifStamp)}
}
writable
d=\${p%/*}/; t=$d${shellQuote(temporary)}
mkdir -p "$d" || exit 1
trap 'rm -f "$t"' EXIT; trap 'exit 1' HUP INT TERM
cat > "$t" || exit 1
[ $(wc -c < "$t") -eq ${size} ] || exit ${exits.incomplete}
if [ -f "$p" ]; then
  info "$p"; m=\${s%|*}
  chown "\${s##*|}" "$t" 2>/dev/null
  chmod "\${m##*|}" "$t" || exit 1
fi
writable
${ifStamp === null ? `ln "$t" "$p" 2>/dev/null && exit; [ ! -e "$p" ] || exit ${exits.ESTALE}` : ''}
mv -f "$t" "$p" || exit 1`,
}

/** Exit codes of the scripts; other failures are recognized by the message of the system. */
export const exits = {
  ENOENT: 72,
  EISDIR: 73,
  EACCES: 74,
  EINVAL: 75,
  ESTALE: 76,
  ENOTDIR: 77,
  incomplete: 78,
} as const

/** `missing` lets `ls` report why: a parent that is a file, a circle of links, a name that is too long. */
const start = (path: string) => `export LC_ALL=C TZ=UTC0; p=${shellQuote(path)}
missing() { ls -ldL "$p" >&2; exit ${exits.ENOENT}; }
`

const there = '[ -e "$p" ] || missing\n'

const readable = `[ ! -d "$p" ] || exit ${exits.EISDIR}
[ -f "$p" ] || exit ${exits.EINVAL}
[ -r "$p" ] || exit ${exits.EACCES}
`

/**
 * `info` sets k to the kind, s to `size|seconds|modified|changed|device:inode|mode|owner`, c to a checksum, because many systems
 * have times only in seconds. `real` sets r to the real path; the x preserves a newline at the end of a name. The target of a
 * dangling link is resolved by hand, because busybox resolves it from the wrong folder.
 */
const infoOf = `sum_up() { cksum || md5sum; }
info() {
  s=$(stat -L -c '%s|%Y|%y|%z|%d:%i|%a|%u:%g' "$1" 2>/dev/null) || s=$(stat -L -f '%z|%m|%Fm|%Fc|%d:%i|%Lp|%u:%g' "$1") || exit 1
  c=; k=other
  if [ -d "$1" ]; then k=folder; elif [ -f "$1" ]; then
    k=file; [ "\${s%%|*}" -gt 4194304 ] || { c=$(2>/dev/null < "$1" sum_up); c=\${c%% *}; }
  fi
}
real() {
  r=$({ { [ -e "$1" ] && { readlink -f "$1" || realpath "$1"; }; } || by_hand "$1"; } 2>/dev/null && echo x)
  case $r in *x) r=\${r%?x};; *) r=;; esac
}
by_hand() {
  t=$1; n=0
  while [ -L "$t" ] && [ $n -lt 40 ]; do
    l=$(readlink "$t" && echo x) || return 1; l=\${l%?x}; n=$((n+1))
    case $l in /*) t=$l;; *) t=\${t%/*}/$l;; esac
  done
  [ ! -L "$t" ] || return 1
  if [ -d "$t" ]; then cd -P "$t" && pwd -P && return; fi
  cd -P "\${t%/*}/" || return 1
  d=$(pwd -P && echo x); d=\${d%?x}; printf '%s/%s\\n' "\${d%/}" "\${t##*/}"
}
`

function unchanged(ifStamp: string | null | undefined): string {
  if (ifStamp === undefined) return ':'
  if (ifStamp === null) return `[ ! -e "$p" ] || exit ${exits.ESTALE}`
  return `[ -f "$p" ] || exit ${exits.ESTALE}; info "$p"; [ "\${s%|*|*}|$c" = ${shellQuote(ifStamp)} ] || exit ${exits.ESTALE}`
}
