import { shellQuote } from '../../../core/execution.ts'
import type { ZxPackage } from './find-zx.ts'

/**
 * A shell line that runs the script on its stdin with zx, from a file of its own that lies outside of any workspace. The
 * shell waits beside zx, not behind it: so it hears when it has to end, and takes the file with it.
 */
export function zxCommand(zx: ZxPackage | undefined): string {
  const program = zx ? [process.execPath, zx.cli].map(shellQuote).join(' ') : 'zx'
  return [
    ...(zx ? [] : [`command -v zx >/dev/null || { echo ${shellQuote(missingThere)} >&2; exit 127; }`]),
    'dir=$(mktemp -d -t zx-script-XXXXXX) || exit 1',
    `trap 'rm -rf "$dir"' EXIT`,
    `trap 'exit 143' TERM INT HUP`,
    'cat >"$dir/script.mjs" || exit 1',
    ...(zx ? [`mkdir "$dir/node_modules" && ln -s ${shellQuote(zx.folder)} "$dir/node_modules/zx"`] : []),
    `${program} "$dir/script.mjs" </dev/null &`,
    'wait $!',
  ].join('\n')
}

const missingThere = 'zx is not installed where scripts run; run `npm install -g zx` there'
