import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { onFailpoint } from '../../src/core/log.ts'
import { call } from '../../src/testing/scripted.ts'
import { openScene, type Scene, type SceneOptions } from './scene.ts'

const scenes: Scene[] = []
async function scene(options: SceneOptions = {}): Promise<Scene> {
  const opened = await openScene(options)
  scenes.push(opened)
  return opened
}
afterEach(async () => {
  for (const one of scenes.splice(0)) await one.close()
})

const allow = () => ({ status: 'accepted', value: { scope: 'once' } }) as const
const writes = (path: string, content: string) => [call(path, 'write_file', { path, content })]
describe('UI39 going back', () => {
  const steps = [writes('a.txt', 'new'), 'done', writes('b.txt', 'b'), 'also done']
  const options: SceneOptions = { steps, files: { 'a.txt': 'old' }, answer: allow, snapshots: true }

  test('UI39 /rewind shows what would change and restores conversation and files', async () => {
    const { type, say, screen, folder, chat } = await scene(options)
    await say('change a')
    await say('make b')
    screen.choices.push('change a', 'conversation and files')
    await type('/rewind')
    expect(screen.printed[0]).toContain('restore  a.txt')
    expect(screen.printed[0]).toContain('delete   b.txt')
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('old')
    expect(existsSync(join(folder, 'b.txt'))).toBe(false)
    expect(chat.agent?.agent.turns).toEqual([])
    expect(screen.drafts).toEqual(['change a'])
    screen.choices.push('yes')
    await type('/undo')
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('new')
    expect(chat.agent?.agent.turns.length).toBeGreaterThan(4)
    screen.choices.push('make b', 'conversation and files')
    await type('/rewind')
    expect([existsSync(join(folder, 'a.txt')), existsSync(join(folder, 'b.txt'))]).toEqual([true, false])
    expect(screen.drafts.at(-1)).toBe('make b')
    screen.choices.push('yes', 'yes')
    await type('/undo')
    await type('/undo')
    expect(screen.printed.slice(-4)).toEqual([
      'restore  b.txt',
      expect.stringContaining('turns came back'),
      'delete   b.txt',
      expect.stringContaining('turns left again'),
    ])
  })

  test('UI39 /rollback restores files alone, and keeps what the person changed since', async () => {
    const { type, say, screen, folder, chat } = await scene(options)
    await say('change a')
    await say('make b')
    writeFileSync(join(folder, 'a.txt'), 'mine')
    screen.choices.push('files')
    await type('/rollback 1')
    expect(screen.printed[0]).toContain('keep     a.txt: it was changed since')
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('mine')
    expect(existsSync(join(folder, 'b.txt'))).toBe(false)
    expect(chat.agent?.agent.turns.length).toBeGreaterThan(4)
  })
  test('UI39 /undo of a rewind shows its plan before it asks, and names files that could not be restored', async () => {
    const { type, say, screen, folder } = await scene(options)
    await say('change a')
    screen.choices.push('change a', 'conversation and files')
    await type('/rewind')
    const shown = screen.printed.length
    screen.choices.push('no')
    await type('/undo')
    expect(screen.printed.slice(shown)).toEqual(['restore  a.txt'])
    onTestFinished(() => onFailpoint(undefined))
    onFailpoint((name) => {
      if (name === 'rollback.logged') writeFileSync(join(folder, 'a.txt'), 'another program')
    })
    screen.choices.push('yes')
    await type('/undo')
    expect(screen.printed.at(-1)).toMatch(/came back; 0 files restored; 0 deleted\nfailed a\.txt: it could not be/)
  })

  test('UI39 where only force restores files, it is said which command has it', async () => {
    const steps = [[call('1', 'shell', { command: 'rm -r "$PWD"' })], 'Gone.']
    const { type, say, screen, folder, chat } = await scene({ ...options, steps })
    await say('clean up')
    mkdirSync(folder, { recursive: true })
    screen.choices.push('nothing')
    await type('/rewind 1')
    expect(screen.printed.at(-1)).toContain(
      `with libero sessions rewind ${chat.agent?.agent.session?.id} --force all of them are undone`,
    )
  })
})
