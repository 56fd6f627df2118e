import Theme from 'vitepress/theme-without-fonts'
import Diagram from './Diagram.vue'
import Landing from './Landing.vue'
import Playground from './Playground.vue'
import './style.css'

export default {
  extends: Theme,
  enhanceApp({ app }) {
    app.component('Diagram', Diagram)
    app.component('landing', Landing)
    app.component('playground', Playground)
  },
}
