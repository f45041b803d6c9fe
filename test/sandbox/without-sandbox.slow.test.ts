import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { emptyFolder, skipped, unavailable } from '../bubblewrap-kit.ts'
import { sampleOf } from '../soak.ts'
import { everydayLines } from './everyday.ts'
import type { WithoutSandbox } from './without-sandbox.ts'

const program = fileURLToPath(new URL('without-sandbox.ts', import.meta.url))

/** Machines that cannot build a sandbox, made by bubblewrap from this one. */
const machines: Readonly<Record<string, { options: () => string[]; why: RegExp }>> = {
  'bubblewrap is missing': { options: () => without('bwrap'), why: /There is no bwrap in \/usr\/bin/ },
  'user namespaces are off': {
    options: () => ['--unshare-user', '--disable-userns'],
    why: /user namespaces are off|No permissions to creat|Creating new namespace|setting up/,
  },
  'bubblewrap was replaced by a program that confines nothing': {
    options: () => replaced('while [ "$1" != -- ]; do shift; done; shift; "$@"; echo \'{ "exit-code": 0 }\' >&5'),
    why: /shares the processes/,
  },
  'bubblewrap was replaced by a program that leaves the workspace writable': {
    options: () =>
      replaced(
        `tr '\\0' '\\n' <&3 | sed 's/^--ro-bind$/--bind/' | tr '\\n' '\\0' >/mnt/args.$$; exec /mnt/bwrap "$@" 3</mnt/args.$$`,
      ),
    why: /could write/,
  },
}

describe.skipIf(unavailable)(`without a sandbox${skipped}`, () => {
  /**
   * A line that is one plain command, of literal words, of a known program of the machine that only reads, needs no sandbox:
   * see `isStrict`. The person was told at the start that there is none.
   */
  test.each(sampleOf(Object.keys(machines), 2))(
    'W05 where %s, no everyday line runs that needs one, and a command that is to be confined does not start',
    { timeout: 600_000 },
    (machine) => {
      const { options, why } = machines[machine]!
      const sample = sampleOf(everydayLines, 20)
      const strict = sample.filter(({ isStrict }) => isStrict).map(({ line }) => line)
      const told = on(
        options(),
        sample.map(({ line }) => line),
      )
      expect(told.why).toMatch(why)
      expect(told.ran).toEqual({ plan: strict, ask: strict, allowlist: strict })
      expect(told.unconfined).toEqual([])
    },
  )
})

/** Runs the program on such a machine. */
function on(options: readonly string[], lines: readonly string[]): WithoutSandbox {
  const args = ['--dev-bind', '/', '/', ...options, process.execPath, '--conditions=libero-source', program]
  return JSON.parse(execFileSync('bwrap', [...args, JSON.stringify(lines)], { encoding: 'utf8', maxBuffer: 2 ** 26 }))
}

/** A folder of links in place of `/usr/bin`, without one program. */
function without(program: string): string[] {
  const folder = emptyFolder('programs-')
  for (const name of readdirSync('/usr/bin')) if (name !== program) symlinkSync(`/mnt/bin/${name}`, join(folder, name))
  expect(existsSync(`/usr/local/bin/${program}`)).toBe(false)
  return ['--tmpfs', '/mnt', '--ro-bind', '/usr/bin', '/mnt/bin', '--ro-bind', folder, '/usr/bin']
}

function replaced(script: string): string[] {
  const folder = emptyFolder('replaced-')
  const path = join(folder, 'bwrap')
  writeFileSync(path, `#!/bin/sh\n[ "$1" != --version ] || { echo bubblewrap 0.8.0; exit; }\n${script}\n`)
  chmodSync(path, 0o755)
  return ['--tmpfs', '/mnt', '--ro-bind', '/usr/bin/bwrap', '/mnt/bwrap', '--ro-bind', path, '/usr/bin/bwrap']
}
