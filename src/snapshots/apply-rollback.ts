import { failpoint } from '../core/log.ts'
import { type GitName, type GitRunner, nulNames, quoteName } from './git-runner.ts'
import { markPath, type PathState } from './path-states.ts'
import type { NamedPlan } from './plan-rollback.ts'
import { ownerWord } from './tidy.ts'

interface MoveOptions {
  readonly now: ReadonlyMap<GitName, PathState>
  readonly owner: string
  /** The time mark of the reading of `now`. */
  readonly mark: string
}

/** So many files are restored by one script. */
const batchSize = 200

/**
 * Git writes the files of a plan into a folder beside them. This needs the space: if it fails, nothing was changed. Rejects
 * with `SnapshotsUnavailableError` then.
 */
export async function stageFiles(git: GitRunner, { restore }: NamedPlan, owner: string): Promise<void> {
  const lines = restore.map(({ name, before }) => `${before.mode} ${before.id}\t${quoteName(name)}\n`)
  await git.run(stageScript(owner), { input: lines.join(''), writes: true })
}

/**
 * Applies a plan: each staged file is moved to its place in one step, so it is the old one or the new one at any time. What
 * was created or written meanwhile is left alone. Links above a path are checked just before. A command that goes on can put one
 * there after that: in an enclosure it is not followed, or leads nowhere (`enclosed-script.ts`); without one it is followed.
 */
export async function moveFiles(git: GitRunner, plan: NamedPlan, { now, owner, mark }: MoveOptions): Promise<void> {
  const { restore, remove, makeFolders, keepFolders, dropFolders } = plan
  const steps = [
    ...remove.map(({ name }) => `remove ./${name}`),
    ...restore.map(({ name }) => `${stepFor(now.get(name))} ./${name}`),
  ]
  for (let i = 0; i < steps.length; i += batchSize) {
    await git.run(moveScript(owner, mark), { input: nulNames(steps.slice(i, i + batchSize)), writes: true })
    failpoint('rollback.moved')
  }
  const made = [...makeFolders, ...keepFolders]
  const folders = [...dropFolders.map((name) => `drop ./${name}`), ...made.map((name) => `make ./${name}`)]
  await git.run(endScript(owner, mark), { input: nulNames(folders), writes: true })
  failpoint('rollback.applied')
}

function stepFor(there: PathState | undefined): 'clear' | 'replace' | 'create' {
  if (there === 'folder') return 'clear'
  return typeof there === 'object' ? 'replace' : 'create'
}

/** Beside the files, as only a move inside of one file system is one step. Snapshots leave it out. */
export const stagePath = (owner: string): string => `$folder/.libero-rollback.${ownerWord(owner)}`

const stageScript = (owner: string): string => `
lock
stage=${stagePath(owner)} t=$private/tmp.${ownerWord(owner)}
index=$t.index
rm -rf "$stage" "$t".*
mkdir "$stage" 2>/dev/null || unavailable "the folder $folder cannot be written"
ours update-index --index-info
folder=$stage
if ! ours checkout-index --all --quiet 2>"$t.said"; then
  read -r said <"$t.said" || :
  rm -rf "$stage"
  unavailable "the files to restore cannot be written beside the others: \${said:-git does not say why}"
fi
rm -f "$t".*
`

/**
 * A folder is removed with its last file. A file that was written after the states were read is left alone: it is in no
 * snapshot. A file keeps its permissions, except that it can be executed or not as before.
 */
const moveScript = (owner: string, mark: string): string => `
lock
looked=${markPath(mark)} stage=${stagePath(owner)} xargs -0 sh -c '
for given; do
  path=\${given#* } step=\${given%% *}
  above=$path
  while [ "\${above%/*}" != . ]; do
    above=\${above%/*}
    if [ -L "$above" ]; then continue 2; fi
  done
  if [ ! -L "$path" ] && [ ! -d "$path" ] && [ "$path" -nt "$looked" ]; then continue; fi
  if [ $step = remove ]; then
    rm -f "$path" 2>/dev/null || continue
    above=\${path%/*}
    while [ "$above" != . ] && rmdir "$above" 2>/dev/null; do above=\${above%/*}; done
    continue
  fi
  new=$stage/\${path#./}
  if [ ! -e "$new" ] && [ ! -L "$new" ]; then continue; fi
  case $step in
    clear) [ -L "$path" ] || find "$path" -depth -type d -exec rmdir {} \\; 2>/dev/null || : ;;
    create) if [ -e "$path" ] || [ -L "$path" ]; then continue; fi ;;
    replace)
      if [ -L "$path" ]; then rm -f "$path" 2>/dev/null || :
      elif [ -f "$path" ] && [ ! -L "$new" ]; then
        runs=-x
        if [ -x "$new" ]; then runs=+x; fi
        mode=$(stat -c %a "$path" 2>/dev/null || stat -f %Lp "$path" 2>/dev/null) && chmod "$mode" "$new" && chmod a$runs "$new" || :
      fi ;;
  esac
  if [ -d "$path" ]; then continue; fi
  mkdir -p "\${path%/*}" 2>/dev/null || continue
  mv -f "$new" "$path" 2>/dev/null || :
done
' sh
`

const endScript = (owner: string, mark: string): string => `
lock
xargs -0 sh -c '
for given; do
  path=\${given#* }
  case $given in
    drop*) [ -L "$path" ] || find "$path" -depth -type d -exec rmdir {} \\; 2>/dev/null || : ;;
    make*) [ -L "$path" ] || mkdir -p "$path" 2>/dev/null || : ;;
  esac
done
' sh
rm -rf "${stagePath(owner)}" "${markPath(mark)}"
`
