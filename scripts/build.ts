import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')

/** What is published. Half a build is worse than none, so a failed one leaves nothing behind. */
function build(): void {
  rmSync(dist, { recursive: true, force: true })
  // Through our own node, because the script's shebang may find an older one on the PATH.
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const args = [tsc, '-p', join(root, 'tsconfig.build.json')]
  const { status, signal, error } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status === 0) return
  rmSync(dist, { recursive: true, force: true })
  const why = error?.message ?? (signal ? `tsc died of ${signal}` : `tsc exited with ${status}`)
  console.error(`build: failed, there is no dist/ now (${why})`)
  process.exitCode = 1
}

if (import.meta.main) build()
