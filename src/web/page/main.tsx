import { render } from 'preact'
import { App } from './frame/app.tsx'
import { loadUntilThere } from './model/back-off.ts'
import { createPageModel } from './model/page-model.ts'
import './styles/tokens.css'
import './styles/base.css'
import './styles/frame.css'
import './styles/screens.css'

/** A phone may lay its keyboard over the page, which then takes the height that is left. */
const {
  visualViewport: visible,
  document: { documentElement: root },
} = window
visible?.addEventListener('resize', () =>
  root.style.setProperty('--visible-height', `${Math.round(visible.height * visible.scale)}px`),
)

const page = createPageModel()
void page.start()
// A file that is dropped beside what takes it would be opened in the place of the page.
for (const type of ['dragover', 'drop'] as const)
  addEventListener(type, (event) => event.dataTransfer?.types.includes('Files') && event.preventDefault())

const ofEmbedder = document.querySelector<HTMLMetaElement>('meta[name=libero-renderers]')
/** With another key all is drawn anew. */
const draw = (key: string): void => render(<App key={key} page={page} />, document.getElementById('page')!)
if (ofEmbedder)
  void loadUntilThere(
    async () => (await import('./cards/add-renderers.ts')).addRenderers(ofEmbedder.content),
    () => draw('without renderers'),
  ).then(() => draw('all'))
else draw('all')
