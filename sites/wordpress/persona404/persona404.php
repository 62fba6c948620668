<?php
/**
 * Plugin Name:       persona404
 * Description:       Shows a missing child on the site's "page not found" pages.
 * Version:           1.0.0
 * Requires at least: 5.9
 * Requires PHP:      7.2
 * License:           MIT
 * License URI:       https://spdx.org/licenses/MIT.html
 *
 * The card itself is the script of a persona404 service. This file asks for the service's address, and
 * puts the card on 404 pages:
 *
 *   classic theme: before its footer (get_footer)
 *   block theme:   before the template part "footer" (render_block)
 *   any other:     at the end of the page (wp_footer)
 *   [persona404]:  where somebody has written this
 *
 * @package persona404
 */

defined( 'ABSPATH' ) || exit;

const PERSONA404_CHOICES = array(
	'size'  => array( '', 'small' ),
	'theme' => array( '', 'light', 'dark' ),
	'lang'  => array( '', 'es', 'pt', 'en' ),
);

/**
 * A text in the language of whoever reads it: Spanish, Portuguese or English.
 *
 * @param string $name Its name.
 */
function persona404_text( $name ) {
	$texts    = array(
		'address'       => array( 'Dirección del servicio', 'Endereço do serviço', 'Address of the service' ),
		'address-about' => array( 'Por ejemplo https://personas.example.org. Te la da quien mantiene el servicio. Sin ella no se muestra nada.', 'Por exemplo https://personas.example.org. Quem mantém o serviço informa o endereço. Sem ele, nada é mostrado.', 'Such as https://personas.example.org. Whoever runs the service tells you. Without it, nothing is shown.' ),
		'size'          => array( 'Tamaño', 'Tamanho', 'Size' ),
		'size-'         => array( 'Completa', 'Completo', 'Full' ),
		'size-small'    => array( 'Pequeña', 'Pequeno', 'Small' ),
		'theme'         => array( 'Colores', 'Cores', 'Colours' ),
		'theme-'        => array( 'Como el sitio', 'Como o site', "The site's own" ),
		'theme-light'   => array( 'Claros', 'Claras', 'Light' ),
		'theme-dark'    => array( 'Oscuros', 'Escuras', 'Dark' ),
		'lang'          => array( 'Idioma', 'Idioma', 'Language' ),
		'lang-'         => array( 'El del sitio', 'O do site', "The site's own" ),
		'lang-es'       => array( 'Español', 'Espanhol', 'Spanish' ),
		'lang-pt'       => array( 'Portugués', 'Português', 'Portuguese' ),
		'lang-en'       => array( 'Inglés', 'Inglês', 'English' ),
		'region'        => array( 'Región preferida', 'Região preferida', 'Preferred region' ),
		'region-about'  => array( 'Como la escribe el registro, por ejemplo Salta. Puede quedar vacía.', 'Como o registro a escreve, por exemplo Salta. Pode ficar vazia.', 'As the register writes it, such as Salta. It may be empty.' ),
		'preview'       => array( 'Vista previa: tu página 404', 'Pré-visualização: sua página 404', 'Preview: your 404 page' ),
		'not-https'     => array( 'No se guardó nada: la dirección debe ser como https://personas.example.org, sin nada después.', 'Nada foi salvo: o endereço deve ser como https://personas.example.org, sem nada depois.', 'Nothing was saved: the address must be like https://personas.example.org, with nothing after it.' ),
		'no-service'    => array( 'No se guardó nada: en esa dirección no responde un servicio persona404 (/api/stats).', 'Nada foi salvo: nesse endereço não responde um serviço persona404 (/api/stats).', 'Nothing was saved: no persona404 service answers at that address (/api/stats).' ),
		'no-choice'     => array( 'No se guardó nada: elige una de las opciones.', 'Nada foi salvo: escolha uma das opções.', 'Nothing was saved: choose one of the options.' ),
	);
	$language = array_search( substr( get_user_locale(), 0, 2 ), array( 'es', 'pt' ), true );
	return $texts[ $name ][ false === $language ? 2 : $language ];
}

/**
 * What is set: the service's address, "" before the first time, and attributes of the card.
 */
function persona404_options() {
	$defaults = array(
		'address' => '',
		'size'    => '',
		'theme'   => '',
		'lang'    => '',
		'region'  => '',
	);
	return shortcode_atts( $defaults, array_filter( (array) get_option( 'persona404' ), 'is_string' ) );
}

// --- The card ------------------------------------------------------------------------

/**
 * The card's element and its script, once on a 404 page; "" without an address.
 */
function persona404_card() {
	static $shown = false;
	$options      = persona404_options();
	if ( '' === $options['address'] || ( $shown && is_404() ) ) {
		return '';
	}
	$shown      = true;
	$attributes = '';
	foreach ( array( 'size', 'theme', 'lang', 'region' ) as $name ) {
		if ( '' !== $options[ $name ] ) {
			$attributes .= sprintf( ' data-%s="%s"', $name, esc_attr( $options[ $name ] ) );
		}
	}
	$script = array(
		'src'   => esc_url( $options['address'] . '/embed.js' ),
		'async' => true, // WordPress before 6.3 cannot enqueue such a script.
	);
	return "<div data-persona404$attributes></div>" . wp_get_script_tag( $script );
}

/**
 * Print the card on a 404 page.
 */
function persona404_print() {
	if ( is_404() ) {
		echo persona404_card(); // phpcs:ignore WordPress.Security.EscapeOutput -- it is escaped there.
	}
}

/**
 * Put the card before a block theme's footer.
 *
 * @param string $html  The rendered template part.
 * @param array  $block Its block.
 */
function persona404_before_footer( $html, $block ) {
	return in_array( 'footer', $block['attrs'], true ) && is_404() ? persona404_card() . $html : $html;
}

add_shortcode( 'persona404', 'persona404_card' );
add_action( 'get_footer', 'persona404_print' );
add_filter( 'render_block_core/template-part', 'persona404_before_footer', 10, 2 );
add_action( 'wp_footer', 'persona404_print', 5 );

// --- The settings --------------------------------------------------------------------

/**
 * What may be saved of what was sent; what is stored already, if something is wrong.
 *
 * @param mixed $sent The form's fields.
 */
function persona404_check( $sent ) {
	$options = persona404_options();
	foreach ( array_keys( $options ) as $name ) {
		$text         = isset( $sent[ $name ] ) && is_string( $sent[ $name ] ) ? $sent[ $name ] : '';
		$new[ $name ] = mb_substr( sanitize_text_field( $text ), 0, 200 );
	}
	$new['address'] = untrailingslashit( $new['address'] );
	if ( ! current_user_can( 'unfiltered_html' ) ) { // Who may not write scripts may not choose one.
		$new['address'] = $options['address'];
	}
	$wrong = '';
	// A service that is down now keeps nobody from changing the colours.
	$is_new = ! in_array( $new['address'], array( '', $options['address'] ), true );
	if ( $is_new && ! preg_match( '~^https://[a-z0-9.-]+(:\d+)?$~i', $new['address'] ) ) {
		$wrong = 'not-https';
	} elseif ( $is_new ) {
		$asked  = array(
			'redirection'         => 0,
			'limit_response_size' => 10000,
		);
		$answer = wp_remote_get( $new['address'] . '/api/stats', $asked );
		$stats  = json_decode( wp_remote_retrieve_body( $answer ), true );
		$wrong  = 200 === wp_remote_retrieve_response_code( $answer ) && isset( $stats['active'] ) ? '' : 'no-service';
	}
	foreach ( PERSONA404_CHOICES as $name => $choices ) {
		$wrong = in_array( $new[ $name ], $choices, true ) ? $wrong : 'no-choice';
	}
	if ( '' === $wrong ) {
		return $new;
	}
	add_settings_error( 'persona404', $wrong, persona404_text( $wrong ) );
	return $options;
}

/**
 * The page below Settings.
 */
function persona404_page() {
	$options = persona404_options();
	echo '<div class="wrap"><h1>persona404</h1><form method="post" action="options.php">';
	settings_fields( 'persona404' );
	echo '<table class="form-table" role="presentation">';
	foreach ( $options as $name => $value ) {
		printf( '<tr><th scope="row"><label for="persona404-%1$s">%2$s</label></th><td>', esc_attr( $name ), esc_html( persona404_text( $name ) ) );
		if ( isset( PERSONA404_CHOICES[ $name ] ) ) {
			printf( '<select id="persona404-%1$s" name="persona404[%1$s]">', esc_attr( $name ) );
			foreach ( PERSONA404_CHOICES[ $name ] as $choice ) {
				printf( '<option value="%s"%s>%s</option>', esc_attr( $choice ), selected( $value, $choice, false ), esc_html( persona404_text( "$name-$choice" ) ) );
			}
			echo '</select>';
		} else {
			printf( '<input id="persona404-%1$s" name="persona404[%1$s]" value="%2$s" class="regular-text" maxlength="200">', esc_attr( $name ), esc_attr( $value ) );
			printf( '<p class="description">%s</p>', esc_html( persona404_text( "$name-about" ) ) );
		}
		echo '</td></tr>';
	}
	echo '</table>';
	submit_button();
	echo '</form>';
	if ( '' !== $options['address'] ) {
		printf( '<p><a href="%s" target="_blank">%s</a></p>', esc_url( home_url( '/?p=2147483647' ) ), esc_html( persona404_text( 'preview' ) ) );
	}
	echo '</div>';
}

/**
 * Say which option there is, and who checks it.
 */
function persona404_register() {
	register_setting( 'persona404', 'persona404', array( 'sanitize_callback' => 'persona404_check' ) );
}

/**
 * Add the page to the menu.
 */
function persona404_menu() {
	add_options_page( 'persona404', 'persona404', 'manage_options', 'persona404', 'persona404_page' );
}

add_action( 'admin_init', 'persona404_register' );
add_action( 'admin_menu', 'persona404_menu' );
