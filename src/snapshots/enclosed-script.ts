import { shellQuote } from '../core/execution.ts'
import type { Enclosure } from '../platform/enclosure.ts'

interface EnterOptions {
  readonly enclosure: Enclosure
  /** What runs in it. */
  readonly inside: string
  /** Whether it changes files in the folder. */
  readonly writes: boolean
  /** Where the private git folder is inside: a name that no link in the folder can know. */
  readonly at: string
}

/**
 * What works in the folder can be led elsewhere at any time: a command in a sandbox that goes on changes folders for links
 * between two steps. So there is nothing elsewhere: the rest of a script sees the folder, our private git folder, programs, and of
 * the repository and the person only the index and ignore files, each bound from a place that no command of this folder can write.
 */
export const enterScript = ({ enclosure, inside, writes, at: place }: EnterOptions): string => `
[ -f "$private/ready.3" ] || makePrivate || unavailable "the folder $store cannot be written"
${personalIgnoresScript}
set -- ${enclosure.map(shellQuote).join(' ')} ${writes ? '--bind' : '--ro-bind'} "$folder" "$folder" --bind "$private" ${place}
if [ -n "$tracked" ]; then
  # What a link or a file names is bound by its own path, which has no links.
  if [ -L "$at/.git" ] || [ -f "$at/.git" ] || [ -f "$dir/commondir" ]; then
    dir=$(cd -P "$dir" && pwd) common=$(cd -P "$common" && pwd)
    tracked=$dir/index
    [ -z "$excludes" ] || excludes=$common/info/exclude
  fi
  lendRepository
  case $common/ in "$folder"/*) ;; *) set -- "$@" --dir "$common/objects" ;; esac
  for one in "$dir/index" "$dir"/sharedindex.* "$common/info/exclude"; do
    case $one in "$folder"/*) ;; *) [ ! -f "$one" ] || set -- "$@" --ro-bind "$one" "$one" ;; esac
  done
  above=$folder
  while [ "\${above:-/}" != "$top" ]; do
    above=\${above%/*}
    [ ! -f "$above/.gitignore" ] || [ -L "$above/.gitignore" ] || set -- "$@" --ro-bind "$above/.gitignore" "$above/.gitignore"
  done
fi
case $ignores in '' | "$folder"/*) ;; *) [ ! -f "$ignores" ] || set -- "$@" --ro-bind "$ignores" "$ignores" ;; esac
if [ ! -x /usr/bin/git ]; then
  git=$(readlink -f "$(command -v git)")
  case $git in
    /usr/* | /nix/store/* | /gnu/store/* | /home/linuxbrew/.linuxbrew/*) ;;
    *) for one in bin lib libexec share/git-core; do set -- "$@" --ro-bind-try "\${git%/*/*}/$one" "\${git%/*/*}/$one"; done ;;
  esac
  PATH=\${git%/*}:$PATH
fi
private=${place} HOME=${place} TMPDIR=${place} GIT_CONFIG_NOSYSTEM=1
export folder store private top prefix excludes tracked dir common HOME TMPDIR GIT_CONFIG_NOSYSTEM
unset GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM XDG_CONFIG_HOME
exec "$@" --remount-ro / --chdir "$folder" -- /bin/sh -c ${shellQuote(inside)}
`

/**
 * Sets `ignores`, the ignore file of the person, and writes settings that name it: those of the person may have secrets, and
 * are not shown. They are read again if a file of them is newer, or if they include others.
 */
const personalIgnoresScript = `
ignores= known= tracked=\${tracked:-} dir=\${dir:-} common=\${common:-}
settings=\${XDG_CONFIG_HOME:-$home/.config}/git of=
for one in "\${GIT_CONFIG_SYSTEM:-/etc/gitconfig}" "$settings/config" "\${GIT_CONFIG_GLOBAL:-$home/.gitconfig}"; do
  [ ! -f "$one" ] || of="$of $one"
  [ ! -f "$one" ] || [ "$private/.gitconfig" -nt "$one" ] || of="$of newer"
done
[ ! -f "$private/.gitconfig" ] || { IFS= read -r known && IFS= read -r ignores; } <"$private/.gitconfig" || :
ignores=\${ignores#?}
if [ "$known" != "# $settings$of" ]; then
  ignores=$settings/ignore
  named=$(GIT_DIR=$private GIT_COMMON_DIR=$private git config --includes --type=path --get-regexp '^(core[.]excludesfile|include.*)$' 2>/dev/null) || named=
  while IFS= read -r one; do
    case $one in
      'core.excludesfile /'*) ignores=\${one#* } ;;
      core.excludesfile*) ignores= ;;
      include*) of=includes ;;
    esac
  done <<end
$named
end
  new=$private/tmp.settings.$$
  printf '# %s\\n#%s\\n' "$settings$of" "$ignores" >"$new"
  GIT_DIR=$private GIT_COMMON_DIR=$private git config -f "$new" core.excludesFile "$ignores"
  mv -f "$new" "$private/.gitconfig"
fi
`

/**
 * The first of all inside. It is the folder that was meant, given by its device and number: a command in a folder above could
 * have replaced it by a link just before it was mounted. Where files are written, no link of the folder is followed, if the system can do that: a link could
 * lead to a file of the folder that commands must not write. What is mounted in the folder is a file system of its own.
 */
export const insideScript = (folder: string, writes: boolean): string => `set -eu
[ "$(stat -c %d:%i .)" = '${folder}' ] || unavailable 'another folder came to the place of this one; try again'
${writes ? ignoreLinksScript : ''}`

const ignoreLinksScript = `
nosymfollow=remount,bind,nosuid,nodev,nosymfollow
mount -o $nosymfollow "$folder" 2>/dev/null || mount -o $nosymfollow,noexec "$folder" 2>/dev/null || :
`
