import { setTimeout as sleep } from 'node:timers/promises'
import { createScreen } from '../../src/tui/one-shot/screen.ts'
import { createTerminal } from '../../src/tui/terminal/terminal.ts'
import { ending, type SceneStep, scenes } from './screen-scenes.ts'

/** Plays a scene on its terminal: `node screen-child.ts <scene> [unwatched]`. */
const [name = 'typical', isWatched = 'watched'] = process.argv.slice(2)
const terminal = createTerminal(process)
const screen = createScreen({ terminal, cwd: '/desk/project' })

for (const beat of scenes[name]!()) await play(beat)
screen.end(ending)
screen.close()

async function play(beat: SceneStep): Promise<void> {
  if (typeof beat === 'number') await sleep(beat)
  // The test looks at the screen now and types a key to continue.
  else if (beat === 'look') await told()
  else if (beat === 'pause') screen.pause()
  else if (beat === 'resume') screen.resume()
  else screen.show(beat)
}

async function told(): Promise<void> {
  if (isWatched !== 'watched') return
  process.stdin.setRawMode?.(true) // no echo
  process.stdin.resume()
  await new Promise<void>((go) => process.stdin.once('data', () => go()))
  process.stdin.pause()
}
