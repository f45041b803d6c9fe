import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Writes a file and the folders it lies in. */
export async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}

/** A SKILL.md with what it needs, and more lines of front matter. */
export function skillText(name: string, more = '', body = `Do what ${name} does.`): string {
  return `---\nname: ${name}\ndescription: What ${name} is for.\n${more}${more && !more.endsWith('\n') ? '\n' : ''}---\n\n${body}\n`
}

/** Puts a skill into a folder of skills. */
export function putSkill(root: string, name: string, more = '', body?: string): Promise<void> {
  return put(join(root, name, 'SKILL.md'), skillText(name, more, body))
}
