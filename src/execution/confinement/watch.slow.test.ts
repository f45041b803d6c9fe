import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { watchCovers } from './watch.ts'

test('W06 a link that is at a path already when its watch begins counts as a mount that is gone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'libero-watch-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [file, link] = [join(folder, 'file'), join(folder, 'link')]
  writeFileSync(file, '')
  symlinkSync('file', link)
  const lost: string[] = []
  const watch = await watchCovers([file, link], (path) => lost.push(path), [file, link])
  onTestFinished(() => watch.end())
  expect({ lost, settled: await watch.settled() }).toEqual({ lost: [link], settled: [link] })
})
