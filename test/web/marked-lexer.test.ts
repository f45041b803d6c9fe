import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Lexer, type Token } from 'marked'
import { expect, onTestFinished, test } from 'vitest'
import { lexerOf } from '../../scripts/marked-lexer.ts'
import { hostileTexts } from './hostile-texts.ts'

test('WB60 the part of marked that the page loads reads every text as the whole does', async () => {
  const part = lexerOf(readFileSync(createRequire(import.meta.url).resolve('marked'), 'utf8'))
  expect(part).not.toMatch(/this\.options\.(?:pedantic|gfm)|pedantic:\w+\}/)
  const folder = mkdtempSync(join(tmpdir(), 'libero-lexer-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'part.mjs'), part)
  const own = (await import(join(folder, 'part.mjs'))) as { readonly Lexer: typeof Lexer }
  const docs = readdirSync('docs').filter((name) => name.endsWith('.md'))
  const texts = [...hostileTexts, ...docs.map((name) => readFileSync(`docs/${name}`, 'utf8'))]
  let read = 0
  for (const text of texts) {
    const tokens = tokensOf(own.Lexer, text)
    expect(tokens).toEqual(tokensOf(Lexer, text))
    if (tokens) read++
  }
  expect(read).toBeGreaterThan(texts.length * 0.9)
})

/** Undefined if the text is nested too deeply. */
function tokensOf(Reader: typeof Lexer, text: string): readonly Token[] | undefined {
  try {
    return new Reader({ gfm: true }).lex(text)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
