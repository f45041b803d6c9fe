import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { digestOf } from '../src/platform/digest.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const cache = join(root, 'node_modules/.cache/libero-test')
const dayMs = 86_400_000

/**
 * What starts `libero` in tests that start it often: built, as it is installed, because each start from source takes four
 * times as long. The first test that needs it builds it, once for a state of the source; two builds at once do no harm.
 */
export async function builtCli(): Promise<string> {
  const place = join(cache, stateOfSource())
  const main = join(place, 'cli/main.js')
  if (existsSync(main)) return main
  forgetOld()
  mkdirSync(cache, { recursive: true })
  const making = mkdtempSync(join(cache, 'making-'))
  const { bundleInto } = await import('../scripts/build.ts')
  await bundleInto(making)
  chmodSync(making, 0o755) // some tests run as another user
  try {
    renameSync(making, place)
  } catch {
    rmSync(making, { recursive: true, force: true }) // another one was faster
  }
  return main
}

function stateOfSource(): string {
  const files = [
    ...globSync('src/**/*.{ts,tsx,css,html,svg}', { cwd: root }),
    ...globSync('scripts/*.ts', { cwd: root }),
    'package.json',
  ].sort()
  const states = files.map((file) => {
    const { mtimeMs, size } = statSync(join(root, file))
    return `${file} ${mtimeMs} ${size}`
  })
  return digestOf(states.join('\n')).slice(0, 16)
}

function forgetOld(): void {
  if (!existsSync(cache)) return
  for (const name of readdirSync(cache)) {
    const path = join(cache, name)
    if (Date.now() - statSync(path).mtimeMs > dayMs) rmSync(path, { recursive: true, force: true })
  }
}
