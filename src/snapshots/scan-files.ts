import { commitAtOnceScript } from './commit-files.ts'
import { foldersAbove, type GitName, hexNames } from './git-runner.ts'
import { nothingElse, type Snapshot, type SnapshotMeta, type TakeOptions } from './snapshot.ts'

/**
 * Lists what differs from the index, in the time of a `git status`: two processes read the known files and the folders. A few
 * files that need no second look are committed at once: another script would cost as much as their commit.
 * Folders that have no known file are looked into, as files may have been added there. No name begins with `/`: it marks the letters of
 * `diff-files`, and twice the names of the lists.
 */
export const scanScript = (options: TakeOptions, index: 'kept' | 'new'): string => `
setup
${index === 'new' ? 'lock "$index" "$private"/sharedindex* "$private/tracked" "$private/last"; ours read-tree --empty' : ''}
t=$private/tmp.${options.token}
trap 'rm -f "$t".*; unlock' EXIT
others >"$t.others" &
listing=$!
# A repository that took the place of a file is in the index as a submodule; git would run its programs to see what it changed.
changed() { atTop -c core.quotePath=false diff-files --ignore-submodules=dirty --line-prefix=/ --relative --name-status "$@" -- .; }
changed >"$t.status"
# Files that the repository has although it ignores them; none, if its index is damaged. Of those that are known, the ones
# that were gone for a while: nothing else lists them.
if [ -f "$tracked" ] && ! [ "$private/tracked" -nt "$tracked" ]; then
  : >"$private/tracked.new"
  listTracked >"$t.tracked" 2>/dev/null || : >"$t.tracked"
  if [ -s "$t.tracked" ]; then
    cp "$t.tracked" "$t.list"
    touch -r "$private/tracked.new" "$t.list"
    mv -f "$t.list" "$private/tracked.new"
  else mv -f "$private/tracked.new" "$private/tracked"; fi
elif [ -s "$private/tracked" ]; then
  unknownOf <"$private/tracked" >"$t.tracked"
fi
${commitAtOnceScript(options)}
# Large files, unreadable ones, and folders. find would take a name such as -delete as an option.
check() {
  xargs -0 sh -c '
isOdd=
for p; do
  case $p in /*) continue ;; [!A-Za-z0-9._]*) isOdd=true ;; esac
  if [ -h "./$p" ]; then continue; fi
  if [ -d "./$p" ]; then printf "%s/\\0" "$p" >&4
  elif [ -e "./$p" ] && [ ! -r "./$p" ]; then printf "%s\\0" "$p" >&3; fi
done
if [ -z "$isOdd" ]; then exec find "$@" -prune -type f -size +${options.maxFileBytes}c -print0; fi
printf "./%s\\0" "$@" | xargs -0 sh -c "exec find \\"\\$@\\" -prune -type f -size +${options.maxFileBytes}c -print0" sh
' sh >>"$t.big" 2>/dev/null 3>>"$t.closed" 4>>"$1" || :
}
# Git quotes odd names in lines; here each ends with a NUL.
asNames() {
  if grep -q '"' "$t.$2"; then "$1" -z >"$t.$2"; else tr '\\t\\n' '\\000\\000' <"$t.$2" >"$t.kept"; mv -f "$t.kept" "$t.$2"; fi
}
[ ! -s "$t.status" ] || asNames changed status
[ ! -s "$t.others" ] || asNames others others
[ ! -s "$t.others" ] || { withoutPlaceholders <"$t.others" >"$t.kept"; mv -f "$t.kept" "$t.others"; }
# Git does not list a folder in the place of a file that it knows.
[ ! -s "$t.status" ] || check "$t.others" <"$t.status"
[ ! -s "$t.others" ] || othersIn <"$t.others" >"$t.files"
if [ -s "$t.files" ] || [ -s "$t.tracked" ]; then
  : >>"$t.files" >>"$t.tracked"
  cat "$t.files" "$t.tracked" | check /dev/null
fi
if [ -s "$t.others" ] || [ -s "$t.status" ] || [ -s "$t.tracked" ]; then
  set --
  for list in status others files tracked big closed; do
    printf '//%s\\0' $list >"$t.$list.name"
    : >>"$t.$list"
    set -- "$@" "$t.$list.name" "$t.$list"
  done
  hex "$@"
fi
if [ -n "$id" ]; then
  if [ -f "$private/refs/snapshots/${options.owner}/$id" ]; then echo //own; fi
  echo //last
  if [ "$is" = whole ]; then printf '%s %s\\n%s\\n' "$id" "$lastTree" '${JSON.stringify(nothingElse)}'; else cat "$private/last"; fi
fi
echo "//folder
$folder"
`

interface Scan {
  readonly update: readonly GitName[]
  readonly remove: readonly GitName[]
  readonly meta: SnapshotMeta
  readonly hasNewFolders: boolean
  /** The snapshot that was taken last. */
  readonly last: { readonly id: string; readonly tree: string; readonly meta: string } | undefined
  /** Whether that one belongs to this session. */
  readonly isOwn: boolean
  /** The snapshot that was taken at once. */
  readonly committed: Pick<Snapshot, 'id' | 'tree'> | undefined
  readonly folder: string
}

export function readScan(printed: string): Scan {
  const [hex = '', ...texts] = printed.split(/^\/\//m)
  const parts = new Map(texts.map((text) => firstLineAndRest(text)))
  const lists = listsIn(hexNames(hex))
  const names = (list: string): readonly GitName[] => lists.get(list) ?? []
  const big = new Set(names('big'))
  const closed = new Set(names('closed'))
  const leftOut = new Map<GitName, string>()
  const update: GitName[] = []
  const remove: GitName[] = []
  const sort = (name: GitName, isKnown: boolean): void => {
    const why = reasonToLeaveOut(name, big, closed)
    if (why === undefined) update.push(name)
    else leftOut.set(name, why)
    if (why !== undefined && isKnown) remove.push(name)
  }
  const status = names('status')
  for (let i = 0; i + 1 < status.length; i += 2) {
    if (status[i] === '/D') remove.push(status[i + 1]!)
    else sort(status[i + 1]!, true)
  }
  const files = [...names('files'), ...names('tracked')]
  for (const name of files) sort(name, false)
  const others = names('others')
  const [last = '', meta = ''] = firstLineAndRest(parts.get('last') ?? '')
  const [id = '', tree = ''] = last.split(' ')
  const [newId = '', newTree = ''] = (parts.get('committed') ?? '').trim().split(' ')
  return {
    update,
    remove,
    meta: metaOf([...leftOut], foldersIn(others, files)),
    hasNewFolders: others.some((name) => name.endsWith('/') && !leftOut.has(name)) && update.length > 0,
    last: tree === '' ? undefined : { id, tree, meta: meta.trimEnd() },
    isOwn: parts.has('own'),
    committed: newTree === '' ? undefined : { id: newId, tree: newTree },
    folder: (parts.get('folder') ?? '').replace(/\n$/, ''),
  }
}

/** Lists of names, each after its own name with `//`. */
function listsIn(names: readonly GitName[]): ReadonlyMap<string, readonly GitName[]> {
  const lists = new Map<string, GitName[]>()
  let list: GitName[] = []
  for (const name of names) {
    if (!name.startsWith('//')) list.push(name)
    else lists.set(name.slice(2), (list = []))
  }
  return lists
}

function reasonToLeaveOut(name: GitName, big: ReadonlySet<GitName>, closed: ReadonlySet<GitName>): string | undefined {
  if (name.endsWith('/')) return 'a repository of its own'
  if (big.has(name)) return 'too large'
  return closed.has(name) ? 'cannot be read' : undefined
}

/** Folders without files; a list of thousands would be that of a program, not of a person. */
export function metaOf(leftOut: SnapshotMeta['leftOut'], folders: readonly GitName[]): SnapshotMeta {
  const isRepository = new Set(leftOut.map(([name]) => name))
  const own = folders.filter((name) => !isRepository.has(name))
  return { leftOut: leftOut.toSorted(byName), folders: own.toSorted().slice(0, mostFolders) }
}

const mostFolders = 2000
const byName = ([a]: readonly [GitName, string], [b]: readonly [GitName, string]): number =>
  a < b ? -1 : Number(a > b)

function foldersIn(others: readonly GitName[], files: readonly GitName[]): readonly GitName[] {
  const filled = new Set(files.flatMap((name) => [name, ...foldersAbove(name).map((folder) => `${folder}/`)]))
  return others.filter((name) => name.endsWith('/') && !filled.has(name))
}

function firstLineAndRest(text: string): [string, string] {
  const index = text.indexOf('\n')
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)]
}
