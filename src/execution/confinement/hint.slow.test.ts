import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { confinedPlace, git, write } from '../../../test/confinement-kit.ts'
import { otherLines, stoppedLines } from '../../../test/sandbox/hint-lines.ts'
import { rounds, sampleOf } from '../../../test/soak.ts'

vi.setConfig({ testTimeout: rounds(60_000, 600_000) })

const lines = [
  ...sampleOf(stoppedLines, 5).map((one) => ({ ...one, isStopped: true })),
  ...sampleOf(otherLines, 4).map((one) => ({ ...one, isStopped: false })),
]

describe.skipIf(unavailable)(`hints of a real sandbox${skipped}`, () => {
  test('W08 a line gets a hint exactly if the sandbox stopped it', async () => {
    const wrong: unknown[] = []
    for (const { line, profile, isStopped } of lines) {
      const { cwd, home, outside, run } = await confinedPlace({ cwd: 'app' })
      const port = await listener()
      write(home, { 'notes.txt': 'x', '.profile': 'x', '.ssh/id_rsa': 'x', 'projects/a': '' })
      write(outside, { 'file.txt': 'x' })
      write(cwd, {
        'file.txt': 'a\n',
        '.env': 'S=1',
        'broken.json': '{',
        'src/a.js': '',
        'build.log': 'Permission denied',
      })
      write(cwd, {
        'main.c': 'int main(void) { return 0; }',
        'broken.c': 'int x',
        'package.json': '{"version":"1.0.0"}',
      })
      git(cwd, 'init', '-q')
      git(cwd, 'add', 'file.txt')
      git(cwd, 'commit', '-qm', 'one')
      const filled = line.replaceAll('{home}', home).replaceAll('{outside}', outside).replaceAll('{port}', String(port))
      const result = await run(
        filled,
        { profile, hidden: [join(cwd, '.env')] },
        { timeout: 30_000, env: { HOME: home } },
      )
      const isMissing = result.exitCode === 127 && isStopped // this machine does not have the program
      if (!isMissing && (result.sandbox?.hint !== undefined) !== isStopped) wrong.push({ line, ...result })
    }
    expect(wrong).toEqual([])
  })

  test('W08 the hint is part of the result, also where the output goes to a listener', async () => {
    const { run } = await confinedPlace()
    const sandbox = { profile: 'read-only', hint: '[sandbox: read-only] the workspace is read-only' }
    expect(await run('touch new.txt')).toMatchObject({ exitCode: 1, sandbox })
    expect(await run('touch new.txt', {}, { onOutput: () => {} })).toMatchObject({ stderr: '', sandbox })
    expect(await run('touch new.txt || true')).toMatchObject({ exitCode: 0, sandbox: { profile: 'read-only' } })
  })
})

async function listener(): Promise<number> {
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
