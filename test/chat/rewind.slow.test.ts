import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
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
    expect(screen.printed.slice(-2)).toEqual([
      expect.stringContaining('turns came back'),
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
})
