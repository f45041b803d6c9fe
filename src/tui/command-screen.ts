import type { CommandScreen } from '../chat/command.ts'
import { visibleName, visibleText } from '../platform/visible-text.ts'
import type { App } from './app.ts'
import { chooseFromList } from './dialogs/choices.ts'
import { DialogClosed } from './dialogs/dialog.ts'
import { readLine } from './input/read-line.ts'
import { textWidth } from './terminal/text-width.ts'
import { createViews } from './views.ts'

/** The terminal as commands see it. */
export function createCommandScreen(app: App): CommandScreen {
  const { terminal, paint, themes } = app
  const views = createViews(app)
  return {
    print(text, { isRaw = false } = {}) {
      // Of the model, and as long as it is: the terminal wraps it, and selecting gives the text.
      if (isRaw) terminal.line(`\n${visibleText(text).replaceAll('\r', '')}\n`)
      else app.print(text)
    },
    async choose({ title, items, initial = 0 }) {
      if (items.length === 0) return undefined
      const wide = Math.min(mostAligned, Math.max(...items.map(({ label }) => textWidth(visibleName(label)))))
      const texts = items.map(({ label, detail }) => {
        const name = visibleName(label)
        if (!detail) return name
        return `${name}${' '.repeat(2 + Math.max(0, wide - textWidth(name)))}${paint.dim(visibleName(detail))}`
      })
      const list = { items: texts, isMultiple: false, title: visibleName(title), initial }
      return (await unlessClosed(app.dialog((context) => chooseFromList(list, context))))?.[0]
    },
    ask: (prompt, initial = '', { isSecret = false } = {}) =>
      unlessClosed(
        app.dialog((context) =>
          readLine(terminal, context.keyboard, { ...context, prompt: `${visibleName(prompt)} `, initial, isSecret }),
        ),
      ),
    view: views.page,
    open: views.open,
    ...(themes && {
      get themes() {
        return themes.names
      },
      setTheme: themes.use,
    }),
    setDraft: app.setDraft,
    edit: app.editText,
    copy: app.copy,
    quit: app.quit,
  }
}

/** Details stand below each other, unless a label is longer than this. */
const mostAligned = 30

/** `undefined` if the person closes the dialog. */
async function unlessClosed<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof DialogClosed) return undefined
    throw error
  }
}
