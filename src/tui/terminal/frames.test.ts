import { expect, test } from 'vitest'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createFrames } from './frames.ts'

function film(isAnimated = false) {
  const clock = fakeClock()
  const drawn: number[] = []
  const world = { isAnimated }
  const frames = createFrames({ draw: () => drawn.push(clock.now()), isAnimated: () => world.isAnimated, clock })
  return { clock, drawn, world, frames }
}

test('the first change is drawn at once, later ones with the next frame', async () => {
  const { clock, drawn, frames } = film()
  for (let i = 0; i < 10; i++) frames.changed()
  expect(drawn).toEqual([0])
  await clock.advance(1000)
  expect(drawn).toEqual([0, 40])
  expect(clock.pending).toBe(0)
})

test('an animation is drawn repeatedly until it ends', async () => {
  const { clock, drawn, frames, world } = film(true)
  frames.changed()
  await clock.advance(350)
  expect(drawn).toEqual([0, 100, 200, 300])
  world.isAnimated = false
  await clock.advance(1000)
  expect(drawn).toEqual([0, 100, 200, 300, 400])
  expect(clock.pending).toBe(0)
})

test('after stop nothing is drawn until the next change', async () => {
  const { clock, drawn, frames } = film(true)
  frames.changed()
  frames.stop()
  await clock.advance(1000)
  expect(drawn).toEqual([0])
  expect(clock.pending).toBe(0)
  frames.changed()
  expect(drawn).toEqual([0, 1000])
})
