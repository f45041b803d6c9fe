import { createHash } from 'node:crypto'
import type { ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import { placeOf } from './git-runner.ts'

/** The id of a session as a part of the name of a ref. */
export const ownerWord = (owner: string): string => createHash('sha256').update(owner).digest('hex').slice(0, 32)

/**
 * Removes the oldest snapshots beyond the limits, with the objects that only they have, and packs objects that are a file
 * each once there are many. The newest one stays, whatever its size. Where nothing is to be done, it runs git twice.
 */
export const tidyScript = ({ keep, maxBytes }: { readonly keep: number; readonly maxBytes: number }): string => `
lock
t=$private/tmp.tidy
trap 'unlock "$t".*' EXIT
find "$private" \\( -name 'tmp.*' -o -name 'sharedindex_*' \\) -mtime +0 -exec rm -rf {} +
size() { ours count-objects -v | awk '/^size/ { kilobytes += $2 } END { print kilobytes }'; }
newest() {
  ours for-each-ref --format='%(refname) %(objectname)' --sort=-committerdate refs/snapshots/ >"$t.all"
  awk -v keep="$1" '!seen[$2]++ { count++ } count > keep { print "delete " $1 }' "$t.all" >"$t.old"
  count=$(awk -v keep="$1" '!seen[$2]++ && count < keep { count++ } END { print count + 0 }' "$t.all")
  [ ! -s "$t.old" ] || ours update-ref --stdin <"$t.old"
}
pack() { ours repack -a -d -q; ours prune --expire=now; makeObjectFolders; }
newest ${keep}
loose=$(ls "$private/objects/17" 2>/dev/null | wc -l)
packs=$(ls "$private/objects/pack" 2>/dev/null | wc -l)
if [ -s "$t.old" ] && [ $((loose * 256 + packs)) -gt 500 ] || [ $loose -gt 12 ] || [ $packs -gt 60 ]; then pack; fi
while [ "$(size)" -gt ${Math.ceil(maxBytes / 1024)} ] && [ $count -gt 1 ]; do
  newest $((count / 2))
  pack
done
`

/** Says whether a session has snapshots of the folder. */
export const ownsScript = (owner: string): string =>
  `if [ -d "$private/refs/snapshots/${ownerWord(owner)}" ]; then echo yes; fi\n`

/** Refs of snapshots, by their ids in the input, become refs of this session too: a ref is a file with the name of its commit. */
export const shareScript = (owner: string): string => `
setup
lock
refs=$private/refs/snapshots
set --
while IFS= read -r id; do
  for one in "$refs"/*/"$id"; do
    if [ -f "$one" ]; then set -- "$@" "$one"; break; fi
  done
done
new=$private/tmp.${ownerWord(owner)}.refs
rm -rf "$new"
mkdir -p "$refs" "$new"
[ $# -eq 0 ] || cp "$@" "$new/"
mv "$new" "$refs/${ownerWord(owner)}"
`

/** Removes the snapshots of sessions, of every folder. Their objects are removed with the last snapshot of the folder, or by `tidyScript`. */
export async function forgetSnapshots(
  sessionIds: readonly string[],
  options: { readonly execution: ExecutionContext; readonly handle: ExecutionHandle; readonly store?: string },
): Promise<void> {
  const { execution, handle } = options
  for (let i = 0; i < sessionIds.length; i += 500) {
    const words = sessionIds.slice(i, i + 500).map(ownerWord)
    const { exitCode, stderr } = await execution.exec(handle, placeOf(options) + forgetScript(words))
    if (exitCode !== 0) throw new Error(`snapshots could not be removed: ${stderr.trim().slice(0, 500)}`)
  }
}

const forgetScript = (owners: readonly string[]): string => `
for one in "$store"/*/; do
  [ -d "$one/refs" ] || continue
  for owner in ${owners.join(' ')}; do rm -rf "$one/refs/snapshots/$owner" "$one/journal.$owner" "$one/claim.$owner"; done
  [ -n "$(ls -A "$one/refs/snapshots" 2>/dev/null)" ] || [ -L "$one/lock" ] || rm -rf "$one"
done
`
