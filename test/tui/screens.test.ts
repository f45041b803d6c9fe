import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { drawScreens, screensFolder } from '../../scripts/screens.ts'

test('UI85 the pictures of docs/screens are what the terminal draws; if not, run scripts/screens.ts', async () => {
  const pictures = await drawScreens()
  const drawn = readdirSync(screensFolder).filter((name) => name !== 'web') // those of the page: test/web/accessible
  expect(drawn.sort()).toEqual(Object.keys(pictures).sort())
  for (const [name, svg] of Object.entries(pictures))
    expect(svg).toBe(readFileSync(new URL(name, screensFolder), 'utf8'))
})
