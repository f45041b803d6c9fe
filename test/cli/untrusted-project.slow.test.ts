import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startMockService } from '../rpc/mock-service.ts'
import { type Desk, openDesk } from './cli-kit.ts'

/** Replaces a file by a pipe. A process waits to write to it, and leaves a mark as soon as the pipe is opened for reading. */
async function trap({ cwd, home }: Desk, name: string): Promise<() => boolean> {
  const [pipe, mark] = [join(cwd, name), join(home, `opened-${name.replaceAll('/', '-')}`)]
  mkdirSync(dirname(pipe), { recursive: true })
  spawnSync('mkfifo', [pipe])
  const script = ': > "$2.set"; : > "$1"; : > "$2"'
  const writer = spawn('sh', ['-c', script, 'sh', pipe, mark], { stdio: 'ignore' })
  onTestFinished(() => void writer.kill('SIGKILL'))
  await vi.waitFor(() => expect(existsSync(`${mark}.set`)).toBe(true), 10_000)
  return () => existsSync(mark)
}

test.skipIf(process.platform !== 'linux')(
  'F007 the command line opens no file of an untrusted project, and starts nothing of it',
  { timeout: 60_000 },
  async () => {
    const service = await startMockService()
    onTestFinished(() => service.close())
    const desk = openDesk(service.url)
    const hashed = ['AGENTS.md', '.mcp.json', '.libero/mcp.json', '.libero/tools/count.mjs', '.libero/config.json']
    const names = [...hashed, '.libero/authority.json']
    const traps = await Promise.all(names.map(async (name) => [name, await trap(desk, name)] as const))
    const skill = '---\nname: review\ndescription: canary-skill\n---\ncanary'
    desk.write('.agents/skills/review/SKILL.md', skill)
    desk.write('.libero/skills/pdf/SKILL.md', skill.replace('review', 'pdf'))
    for (const args of [
      ['Look around.'],
      ['config'],
      ['tools'],
      ['mcp'],
      ['skills'],
      ['policy', 'explain', '--', 'ls'],
    ]) {
      const { code, err } = await desk.process(args)
      expect(code, `${args.join(' ')}: ${err}`).toBe(0)
    }
    expect(service.requests).toHaveLength(1)
    expect(JSON.stringify(service.requests)).not.toContain('canary')
    const opened = () => traps.filter(([, isOpened]) => isOpened()).map(([name]) => name)
    await wait(200) // a mark needs a moment
    expect(opened()).toEqual([])

    // Showing the digest reads the files, which proves that the traps work.
    await desk.libero(['trust'])
    await vi.waitFor(() => expect(opened()).toEqual(expect.arrayContaining(hashed)), 10_000)
  },
)
