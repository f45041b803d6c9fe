import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createProcessContext } from '../process.ts'
import { createSandboxContext, type SandboxProvider } from '../sandbox.ts'

const scratch = mkdtempSync(join(tmpdir(), 'libero-input-test-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

test.each([false, true])(
  'a command that is stopped before it begins leaves no input behind (writes files: %s)',
  async (writes) => {
    const processes = createProcessContext({ cwd: scratch })
    const host = await processes.spawn()
    const stop = new AbortController()
    const made = new Set<string>()
    const provider: SandboxProvider = {
      spawn: async () => ({ id: 's' }),
      async exec(_, command, options) {
        const done = await processes.exec(host, command, { ...options, cwd: scratch })
        const [file] = /\/tmp\/\.libero-[0-9a-f-]+(\.b64)?/.exec(command) ?? []
        if (file && existsSync(file)) {
          made.add(file)
          stop.abort()
        }
        return done
      },
      destroy: async () => {},
      ...(writes && {
        async writeFile(_: string, path: string, content: string | Uint8Array) {
          await writeFile(path, content)
          made.add(path)
          stop.abort()
        },
      }),
    }
    const context = createSandboxContext(provider)
    const done = await context.exec(await context.spawn(), 'cat', { input: 'x'.repeat(200_000), signal: stop.signal })
    expect(done).toEqual({ stdout: '', stderr: '', exitCode: null })
    expect(made.size).toBe(1)
    for (const file of made) expect(`${file} ${existsSync(file)}`).toBe(`${file} false`)
    await processes.destroy(host)
  },
)
