import { shownExactly } from './escape-html.ts'

/** Lines of a diff, each in the colour of its first sign. */
export function diffHtml(lines: readonly string[]): string {
  const shown = lines.map((line) => {
    const look = looks[line[0] ?? ''] ?? (line.startsWith('@@') ? 'at' : '')
    const text = shownExactly(line)
    return look === '' ? text : `<span class="${look}">${text}</span>`
  })
  return `<pre class="diff">${shown.join('\n')}</pre>\n`
}

const looks: Readonly<Record<string, string>> = { '+': 'add', '-': 'del' }

/** Whether a text is what `diff -u` or `git diff` prints. */
export function looksLikeDiff(text: string): boolean {
  return /^(?:diff --git |--- .*\n\+\+\+ |@@ -\d)/m.test(text.slice(0, 4000)) && /^@@ -\d/m.test(text.slice(0, 20_000))
}
