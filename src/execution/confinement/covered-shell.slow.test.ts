import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { confinedPlace, write } from '../../../test/confinement-kit.ts'
import { canary, replacements } from '../../../test/replacements.ts'
import { rounds, sampleOf } from '../../../test/soak.ts'

vi.setConfig({ testTimeout: rounds(60_000, 900_000) })

/** Prints a hidden file all the time, and writes to it, as far as it can. */
const reading = `echo begun; while :; do [ ! -r .env ] || echo "$(< .env)"; echo evil >> .env; done 2>/dev/null`

describe.skipIf(unavailable)(`hidden files in the sandbox read-only${skipped}`, () => {
  test.each(sampleOf(Object.keys(replacements), 2))('W06 a program that %s shows it to no command', async (way) => {
    for (let round = 0; round < rounds(1, 25); round++) {
      const { cwd, run } = await confinedPlace()
      write(cwd, { '.env': `old ${canary}\n` })
      const hidden = { hidden: [join(cwd, '.env')] }
      const heard: string[] = []
      const running = Promise.withResolvers<void>()
      const onOutput = (text: string): void => {
        heard.push(text)
        running.resolve()
      }
      const result = run(reading, hidden, { timeout: 20_000, onOutput })
      await running.promise
      replacements[way]?.(join(cwd, '.env'))
      expect(await result).toMatchObject({ exitCode: null, stdout: '', stderr: '' })
      expect({ round, heard: heard.join('') }).toEqual({ round, heard: expect.not.stringContaining(canary) })
      expect(heard.at(-1)).toContain('Its output is withheld, as it may contain that file; run it again')
      expect(await run('cat .env', hidden)).toMatchObject({ stdout: '', exitCode: 1 })
    }
  })

  test.each(sampleOf(Object.keys(replacements), 1))(
    'W06 a program that %s lets no command change a protected file in workspace-write, nor read a hidden one',
    async (way) => {
      for (let round = 0; round < rounds(1, 25); round++) {
        const { cwd, run } = await confinedPlace()
        write(cwd, { '.env': `old ${canary}\n`, '.npmrc': 'old\n' })
        const how = { profile: 'workspace-write', hidden: [join(cwd, '.env')] } as const
        for (const name of ['.npmrc', '.env']) {
          const heard: string[] = []
          const running = Promise.withResolvers<void>()
          const onOutput = (text: string): void => {
            heard.push(text)
            running.resolve()
          }
          const result = run(reading.replaceAll('.env', name), how, { timeout: 20_000, onOutput })
          await running.promise
          replacements[way]?.(join(cwd, name))
          expect(await result).toMatchObject({ exitCode: null, sandbox: { profile: 'workspace-write' } })
          if (name === '.env') expect(heard.join('')).not.toContain(canary)
        }
        expect({ round, text: readFileSync(join(cwd, '.npmrc'), 'utf8') }).toEqual({ round, text: 'old\n' })
      }
    },
  )
})
