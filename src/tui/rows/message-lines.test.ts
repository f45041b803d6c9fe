import { expect, test } from 'vitest'
import { messageText } from '../transcript.ts'

const text = (value: string) => ({ type: 'text' as const, text: value })
const numbers = (most: number): string => Array.from({ length: most }, (_, i) => `${i + 1}`).join('\n')

test('an attached file is one line of the message, not its whole content', () => {
  const content = [text('look at @n.txt'), text(`The file n.txt:\n\`\`\`\n${numbers(300)}\n\`\`\``)]
  expect(messageText({ content })).toBe('look at @n.txt\nThe file n.txt:\n… 302 lines more; ctrl+t shows them')
})

test('a long paste is folded, and a message of usual length is not', () => {
  expect(messageText({ content: [text(numbers(21))] })).toBe(numbers(21))
  expect(messageText({ content: [text(numbers(200))] })).toBe(`${numbers(20)}\n… 180 lines more; ctrl+t shows them`)
})

test('the output of a shell line comes without the words for the model', () => {
  const output = { content: [text('The user ran this command. Its output:\na.ts')], meta: { shellLine: 'ls' } }
  expect(messageText({ ...output, isNote: true })).toBe('a.ts')
})
