import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { copyInto, type InstalledPackage, run } from './installed-package.ts'

interface Runtime {
  readonly name: string
  readonly command: readonly string[]
  readonly install: string
}

const runtimes: readonly Runtime[] = [
  { name: 'Node', command: [process.execPath], install: 'npm install node' },
  { name: 'Bun', command: ['bun'], install: 'npm install --global bun' },
  {
    name: 'Deno',
    command: ['deno', 'run', '--allow-all', '--node-modules-dir=manual'],
    install: 'npm install --global deno',
  },
]

/** What must work in every runtime: see runtime-smoke.mjs. */
const everything = [
  ...['agent: completed', 'shell: true', 'search: true', 'fallback: true', 'sqlite: 4', 'jsonl: 4'],
  ...['workflow: completed', 'server: served'],
]

/** The installed package in each runtime that this machine has. */
export function otherRuntimes(installed: () => InstalledPackage): void {
  describe('runtimes', () => {
    for (const { name, command, install } of runtimes)
      test(`DR10 E15 ${name} runs agents, commands, search, stores, workflows, the server and the command line`, {
        timeout: 60_000,
      }, async ({ skip }) => {
        const [program = '', ...args] = command
        const { project } = installed()
        const file = await copyInto(project, 'runtime-smoke.mjs')
        const { code, stdout, output } = await run(project, program, ...args, file)
        if (code === -1) {
          console.warn(`NOT TESTED: ${name} is not installed; to test it: ${install}`)
          return skip()
        }
        expect(stdout.trim().split('\n'), output).toEqual(everything)
        const bin = join(project, 'node_modules/libero/bin/libero.js')
        const told = await run(project, program, ...args, bin, 'run', '--provider', 'offline', '--no-session', 'hello')
        expect([told.code, told.output]).toEqual([0, expect.stringContaining('I am the offline model')])
      })
  })
}
