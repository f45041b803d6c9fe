import { failpoint } from '../core/log.ts'
import { type GitName, type GitRunner, nulNames, quoteName } from './git-runner.ts'
import { markPath, type PathState } from './path-states.ts'
import type { NamedPlan } from './plan-rollback.ts'

interface ApplyOptions {
  readonly now: ReadonlyMap<GitName, PathState>
  readonly token: string
  /** The time mark of the reading of `now`. */
  readonly mark: string
}

/** So many files are restored by one script. */
const batchSize = 200

/**
 * Applies a plan. Git writes the files into a folder beside them, from where each is moved to its place in one step: a file
 * is the old one or the new one at any time. What was created or written meanwhile is left alone. Links above a path are
 * checked just before; that can be raced.
 */
export async function applyRollback(git: GitRunner, plan: NamedPlan, options: ApplyOptions): Promise<void> {
  const { now, token, mark } = options
  const { restore, remove, makeFolders, dropFolders } = plan
  const lines = restore.map(({ name, before }) => `${before.mode} ${before.id}\t${quoteName(name)}\n`)
  await git.run(stageScript(token), { input: lines.join('') })
  failpoint('rollback.staged')
  const steps = [
    ...remove.map(({ name }) => `remove ./${name}`),
    ...restore.map(({ name }) => `${stepFor(now.get(name))} ./${name}`),
  ]
  for (let i = 0; i < steps.length; i += batchSize) {
    await git.run(moveScript(token, mark), { input: nulNames(steps.slice(i, i + batchSize)) })
    failpoint('rollback.moved')
  }
  const folders = [...dropFolders.map((name) => `drop ./${name}`), ...makeFolders.map((name) => `make ./${name}`)]
  await git.run(endScript(token, mark), { input: nulNames(folders) })
  failpoint('rollback.applied')
}

function stepFor(there: PathState | undefined): 'clear' | 'replace' | 'create' {
  if (there === 'folder') return 'clear'
  return typeof there === 'object' ? 'replace' : 'create'
}

/** Beside the files, as only a move inside of one file system is one step. Snapshots leave it out. */
const stagePath = (token: string): string => `$folder/.libero-rollback.${token}`

const stageScript = (token: string): string => `
lock
rm -rf "$folder"/.libero-rollback.*
mkdir "${stagePath(token)}" 2>/dev/null || unavailable "the folder $folder cannot be written"
index=$private/tmp.${token}.index
rm -f "$index"
ours update-index --index-info
folder=${stagePath(token)}
ours checkout-index --all --quiet
rm -f "$index"
`

/**
 * A folder is removed with its last file. A file that was written after the states were read is left alone: it is in no
 * snapshot. A file keeps its permissions, except that it can be executed or not as before.
 */
const moveScript = (token: string, mark: string): string => `
lock
looked=${markPath(mark)} stage=${stagePath(token)} xargs -0 sh -c '
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

const endScript = (token: string, mark: string): string => `
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
rm -rf "${stagePath(token)}" "${markPath(mark)}"
`
