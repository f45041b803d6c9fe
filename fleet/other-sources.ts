import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The sources of an earlier commit in a folder of their own; undefined where the history is not there. */
export function sourcesAt(commit: string): { readonly folder: string; remove(): void } | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'libero-sources-'))
  try {
    const archive = execFileSync('git', ['archive', commit, 'src', 'package.json'], {
      ...{ cwd: root, maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] },
    })
    execFileSync('tar', ['-x', '-C', folder], { input: archive })
  } catch {
    rmSync(folder, { recursive: true, force: true })
    return undefined
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
