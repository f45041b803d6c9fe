import type { LookOf } from './boxed.ts'

/** How the lines of a consent look: commands and what to mind stand out, and what an edit takes away and puts there. */
export function consentLooks(): LookOf {
  let argument: string | undefined
  return (line) => {
    argument = /^ {2}(\w+)(?:: | \(\d+ lines\):$)/.exec(line)?.[1] ?? (line.startsWith('    ') ? argument : undefined)
    if (argument !== undefined && Object.hasOwn(looks, argument)) return looks[argument]
    if (/^(?:note|cannot be inspected|may run): |^ {5}mind: /.test(line)) return 'yellow'
    return /^ {2}\d+\. /.test(line) ? 'bold' : undefined
  }
}

const looks: Readonly<Record<string, 'bold' | 'red' | 'green'>> = {
  command: 'bold',
  old_string: 'red',
  new_string: 'green',
}
