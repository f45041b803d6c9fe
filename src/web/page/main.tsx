import { render } from 'preact'
import { App } from './frame/app.tsx'
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
void draw()

async function draw(): Promise<void> {
  const ofEmbedder = document.querySelector<HTMLMetaElement>('meta[name=libero-renderers]')
  if (ofEmbedder) await (await import('./cards/add-renderers.ts')).addRenderers(ofEmbedder.content)
  render(<App page={page} />, document.getElementById('page')!)
}
