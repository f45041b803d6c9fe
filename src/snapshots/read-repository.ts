import { shellQuote } from '../core/execution.ts'
import { safeGitOptions } from '../platform/safe-git.ts'

/**
 * Finds the repository around `folder`, where git would find it. Its settings are read by no process: they name programs, and
 * further files. Sets `top`, the folder whose files belong together, `prefix`, the path of the folder in it, and, if there is a
 * repository that does not ignore the folder, `excludes` and `tracked`.
 */
export const repositoryScript = `
isGitFolder() { [ -f "$1/HEAD" ] && { [ -f "$1/commondir" ] || { [ -d "$1/objects" ] && [ -d "$1/refs" ]; }; }; }
findRepository() {
  at=$folder
  until dir=$at/.git; [ -f "$dir" ] || isGitFolder "$dir"; do
    if isGitFolder "$at"; then unavailable 'this folder is inside the .git folder of a repository, or is a bare one'; fi
    [ -n "$at" ] || return 1
    at=\${at%/*}
  done
  if [ -f "$dir" ]; then
    IFS= read -r named <"$dir" || :
    case $named in
      'gitdir: /'*) dir=\${named#gitdir: } ;;
      'gitdir: '*) dir=$at/\${named#gitdir: } ;;
    esac
    isGitFolder "$dir" || return 1
  fi
  common=
  [ ! -f "$dir/commondir" ] || IFS= read -r common <"$dir/commondir" || :
  case $common in /*) ;; *) common=$dir/\${common:-.} ;; esac
}
top=$folder prefix= excludes= tracked=
if findRepository; then
  top=\${at:-/}
  # What the repository ignores as a whole is a folder of its own.
  if [ "$top" != "$folder" ] && (cd "$top" && GIT_LITERAL_PATHSPECS=0 reading check-ignore -q --no-index -- "$folder") 2>/dev/null; then
    top=$folder
  else
    tracked=$dir/index
    [ "$top" = "$folder" ] || prefix=\${folder#"\${top%/}/"}/
    [ ! -f "$common/info/exclude" ] || excludes=$common/info/exclude
  fi
fi
`

/** Reads the index of the repository and its ignore files. */
export const readingScript = `
# Git in a folder of our own that lends the index, the objects and the excludes of the repository.
lendRepository() {
  reader=$private/reader of=
  [ ! -f "$reader/of" ] || IFS= read -r of <"$reader/of" || :
  if [ "$of" != "$dir" ]; then
    (umask 077 && mkdir -p "$reader/refs" "$reader/info")
    printf 'ref: refs/heads/none\\n' >"$reader/HEAD"
    printf '[include]\\npath = ../config\\n' >"$reader/config"
    if [ -f "$common/config" ] && grep -qi 'objectformat *= *sha256' "$common/config" 2>/dev/null; then
      printf '[core]\\nrepositoryformatversion = 1\\n[extensions]\\nobjectFormat = sha256\\n' >>"$reader/config"
    fi
    ln -sfn "$common/info/exclude" "$reader/info/exclude"
    printf '%s\\n' "$dir" >"$reader/of"
  fi
}
reading() {
  lendRepository
  GIT_DIR=$reader GIT_COMMON_DIR=$reader GIT_OBJECT_DIRECTORY=$common/objects GIT_WORK_TREE=$top GIT_INDEX_FILE=$dir/index \\
    git ${safeGitOptions.map(shellQuote).join(' ')} "$@"
}
# What is tracked although it is ignored. An index may be in two files.
listTracked() {
  rm -f "$private"/reader/sharedindex.*
  for part in "$dir"/sharedindex.*; do [ ! -f "$part" ] || ln -sf "$part" "$private/reader/"; done
  reading ls-files -z --cached --ignored --exclude-standard
}
`
