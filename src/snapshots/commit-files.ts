import { type GitName, quoteName } from './git-runner.ts'
import { nothingElse, type SnapshotMeta, type TakeOptions } from './snapshot.ts'

/** What is put into the index of a snapshot, and taken out of it. */
interface IndexChanges {
  readonly remove: readonly GitName[]
  readonly update: readonly GitName[]
}

/**
 * Known files that changed are put into the index while the folders are still being listed; with new ones they are committed.
 * The shell reads the names itself, as each process would cost a hundredth of the snapshot. If one of them is a folder,
 * large, unreadable or oddly named, or if they are many, or after any failure, the longer way is taken, which does all of
 * it again. Files that are gone get a list of their own, because `--remove` refuses what is behind a link.
 */
export const commitAtOnceScript = (options: TakeOptions): string => `
tab='	' newline='
'
isSimple() {
  list=$1 gone= count=0
  set --
  while IFS= read -r p; do
    isGone=
    case $p in
      /D*) isGone=true p=\${p#*"$tab"} ;;
      /*) p=\${p#*"$tab"} ;;
    esac
    case $p in '"'*) return 1 ;; esac
    count=$((count + 1))
    [ $count -le ${Math.min(options.maxFiles, mostAtOnce)} ] || return 1
    if [ ! -h "./$p" ]; then [ ! -d "./$p" ] && { [ ! -e "./$p" ] || [ -r "./$p" ]; } || return 1; fi
    if [ -n "$isGone" ]; then gone=$gone$p$newline; else set -- "$@" "./$p"; fi
  done <"$list"
  [ -z "$gone" ] || printf %s "$gone" >"$list.gone"
  [ $# -gt 0 ] || return 0
  printf '%s\\n' "$@" >"$list.given"
  large=$(find "$@" -prune -type f -size +${options.maxFileBytes}c 2>/dev/null) || return 1
  [ -z "$large" ]
}
readLast() {
  id= lastTree= is=
  [ ! -s "$private/last" ] || read -r id lastTree is <"$private/last" || :
}
${treeScript}
updateIndex() {
  if [ -z "$locked" ]; then
    lock
    trap 'unlock "$t".*' EXIT
    : >"$private/last"
  fi
  [ ! -s "$1.gone" ] || atTop update-index --force-remove --stdin <"$1.gone"
  [ ! -s "$1.given" ] || atTop update-index --add --remove --replace --stdin <"$1.given"
  writeTree
}
tree=
readLast
[ ! -s "$t.tracked" ] || is=
mayBeWhole=$is
if [ -n "$mayBeWhole" ] && [ -s "$t.status" ] && isSimple "$t.status"; then updateIndex "$t.status"; fi
wait $listing
# What another process has committed before now has the files that the lists do not name.
readLast
if [ -s "$t.others" ] && { [ -n "$tree" ] || [ ! -s "$t.status" ]; }; then
  tree=
  if [ -n "$mayBeWhole" ] && isSimple "$t.others"; then updateIndex "$t.others"; fi
fi
if [ -n "$tree" ]; then
  meta='${JSON.stringify(nothingElse)}'
  echo //committed
  ${commitScript(options)}
  echo "//folder
$folder"
  exit
fi
`

/** Of many names a shell makes a list slowly. */
const mostAtOnce = 300

/** Many files at once go into one pack instead of a file each. */
export function updateScript({ remove, update }: IndexChanges): string {
  const isLarge = update.length > 1000
  const removing = 'atTop update-index --force-remove --stdin'
  const updating = `atTop ${isLarge ? '-c core.bigFileThreshold=1 ' : ''}update-index --add --remove --replace --stdin`
  const splitting = isLarge ? ': >"$private/split"; split=true\n' : ''
  if (remove.length === 0) return `${splitting}${updating}\n`
  if (update.length === 0) return `${removing}\n`
  return `${splitting}cat >"$t.given"
sed -n 's/^-//p' "$t.given" | ${removing}
sed -n 's/^+//p' "$t.given" | ${updating}
`
}

/** Its input. */
export function namesToUpdate({ remove, update }: IndexChanges): readonly string[] {
  const isBoth = remove.length > 0 && update.length > 0
  const line = (mark: string) => (name: GitName) => (isBoth ? mark : '') + quoteName(name)
  return [...remove.map(line('-')), ...update.map(line('+'))]
}

/**
 * The note of the last snapshot is emptied first: if this process dies before the next one is committed, the index is not
 * that of the last snapshot any more, though nothing differs from it. A part of a note is none: it ends with what is compared.
 */
export const lockScript = ({ token }: TakeOptions): string => `
lock
: >"$private/last"
t=$private/tmp.${token}
trap 'unlock "$t".*' EXIT
IFS= read -r meta
`

/** By a file, because a substitution is one more process. */
export const treeScript = `
writeTree() {
  if [ -z "$prefix" ] || atTop ls-files -- . | grep -q .; then atTop write-tree \${prefix:+--prefix="$prefix"} >"$t.tree"
  else ours mktree </dev/null >"$t.tree"; fi
  read -r tree <"$t.tree"
}
`

/** The file that has the name of the commit becomes its ref: `update-ref` would write the same one, in three times as long. */
export const commitScript = ({ now, owner }: TakeOptions): string => `
export GIT_AUTHOR_NAME=libero GIT_AUTHOR_EMAIL=libero@localhost GIT_AUTHOR_DATE='@${Math.floor(now / 1000)} +0000'
export GIT_COMMITTER_NAME=libero GIT_COMMITTER_EMAIL=libero@localhost GIT_COMMITTER_DATE="$GIT_AUTHOR_DATE"
ours commit-tree "$tree" >"$t.commit" <<end
$meta
end
read -r commit <"$t.commit"
refs=$private/${refsOf(owner)}
[ -d "$refs" ] || mkdir -p "$refs"
mv -f "$t.commit" "$refs/$commit" &
referring=$!
holder=$(readlink "$private/lock") || :
wait $referring
[ ! -f "$private/tracked.new" ] || mv -f "$private/tracked.new" "$private/tracked"
is=
[ "$meta" != '${JSON.stringify(nothingElse)}' ] || is=whole
printf '%s %s %s\\n%s\\n' "$commit" "$tree" "$is" "$meta" >"$private/last"
printf '%s %s\\n' "$commit" "$tree"
`
const refsOf = (owner: string): string => `refs/snapshots/${owner}`
export const refOf = (owner: string, commit: string): string => `${refsOf(owner)}/${commit}`

export const inputOf = (meta: SnapshotMeta, names: readonly string[]): string =>
  [JSON.stringify(meta), ...names, ''].join('\n')
